lock table meanwhile.queued in access exclusive mode;
drop trigger queued_touch on meanwhile.queued;
alter table meanwhile.queued drop column limit_key, add column limit_key text collate "C" generated always as (
    case when strpos(options, '"limit_key":["') > 0
        then left(substr(options, strpos(options, '"limit_key":["') + 12), -1)::jsonb ->> 0 end
) stored;
create index queued_due on meanwhile.queued (queue, priority, run_at, id) include (kind) where limit_key is null;
create index queued_keyed on meanwhile.queued (queue, run_at) include (id, kind) where limit_key > '';
create index queued_in_order on meanwhile.queued (queue, limit_key, created, id) where limit_key <> '';
create index queued_lane on meanwhile.queued (queue, limit_key, priority desc, run_at, id) where limit_key is not null;
create trigger queued_touch after insert or update of queue, priority, run_at on meanwhile.queued for each row
    when (new.limit_key is not null and current_setting('meanwhile_jobs.lanes', true) is distinct from 'noted') execute function meanwhile.touch();

drop function meanwhile.insert_noted(uuid[], text[], timestamptz[], interval[], smallint[], int[], text[], text[], text[], interval[], text[], text[],
    bigint[], bigint[], bigint[], bigint[], text[], text[]);
create function meanwhile.insert_noted(uuid[], text[], timestamptz[], interval[], smallint[], int[], text[], text[], text[], interval[], text[],
    bigint[], bigint[], bigint[], bigint[], text[], text[]) returns void
language plpgsql set meanwhile_jobs.lanes = 'noted' as $$
#variable_conflict use_column
begin
    with job as (
        insert into meanwhile.queued (id, queue, run_at, priority, max_attempts, kind, args, unique_key, unique_for, options)
        select id, queue, coalesce(run_at, now() + delay, now()), priority, max_attempts, kind, args, key, hold, options
        from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            j(id, queue, run_at, delay, priority, max_attempts, kind, args, key, hold, options)
        returning queue, limit_key, priority, run_at
    ), noted as (
        insert into meanwhile.noted (queue, keys, priority, run_at)
        select queue, array_agg(distinct limit_key), max(priority), min(run_at)
        from (select queue, limit_key, priority, run_at, row_number() over () / 500 as part from job where limit_key is not null) j group by queue, part
    )
    insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
    select * from unnest($12, $13, $14, $15, $16, $17);
end $$;
