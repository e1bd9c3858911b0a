create or replace function meanwhile.insert_alike(uuid[], text[], text, text, smallint, int) returns void
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
begin
    with job as (
        insert into meanwhile.queued (id, queue, run_at, priority, max_attempts, kind, args)
        select id, $3, now(), $5, $6, $4, args from unnest($1::uuid[], $2::text[]) j(id, args)
    )
    insert into meanwhile.counts (unfinished, queue, kind) values (cardinality($1::uuid[]), $3, $4);
end $$;

create or replace function meanwhile.insert_noted(uuid[], text[], timestamptz[], interval[], smallint[], int[], text[], text[], text[], interval[], text[], text[],
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

drop function meanwhile.refuse_stored(uuid[]);
