-- readable from 29
-- Who queues a job writes its limit key. The table worked it out of the options: to read that expression anew for each statement was a third of what the
-- insert of one job cost.

alter table meanwhile.queued alter column limit_key drop expression;

-- As before, but for $12, the limit keys.
drop function meanwhile.insert_noted(uuid[], text[], timestamptz[], interval[], smallint[], int[], text[], text[], text[], interval[], text[],
    bigint[], bigint[], bigint[], bigint[], text[], text[]);
create function meanwhile.insert_noted(uuid[], text[], timestamptz[], interval[], smallint[], int[], text[], text[], text[], interval[], text[], text[],
    bigint[], bigint[], bigint[], bigint[], text[], text[]) returns void
language plpgsql set meanwhile_jobs.lanes = 'noted' as $$
#variable_conflict use_column
begin
    with job as (
        insert into meanwhile.queued (id, queue, run_at, priority, max_attempts, kind, args, unique_key, unique_for, options, limit_key)
        select id, queue, coalesce(run_at, now() + delay, now()), priority, max_attempts, kind, args, key, hold, options, limit_key
        from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            j(id, queue, run_at, delay, priority, max_attempts, kind, args, key, hold, options, limit_key)
        returning queue, limit_key, priority, run_at
    ), noted as (
        insert into meanwhile.noted (queue, keys, priority, run_at)
        select queue, array_agg(distinct limit_key), max(priority), min(run_at)
        from (select queue, limit_key, priority, run_at, row_number() over () / 500 as part from job where limit_key is not null) j group by queue, part
    )
    insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
    select * from unnest($13, $14, $15, $16, $17, $18);
end $$;
