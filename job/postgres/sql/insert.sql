-- Inserts jobs that have no unique key or hold theirs; due at $3, or after the delay $4, or immediately. The parameters from $13 on are changes of the
-- counts. It returns no row.
with job as (
    insert into meanwhile.queued (id, queue, run_at, priority, max_attempts, kind, args, unique_key, unique_for, options, limit_key)
    select id, queue, coalesce(run_at, now() + delay, now()), priority, max_attempts, kind, args, key, hold, options, limit_key
    from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::interval[], $5::smallint[], $6::int[], $7::text[], $8::text[],
        $9::text[], $10::interval[], $11::text[], $12::text[])
        j(id, queue, run_at, delay, priority, max_attempts, kind, args, key, hold, options, limit_key)
    returning id
), counted as (
    insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
    select * from unnest($13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::text[], $18::text[])
)
select null::uuid from (select array_agg(id order by id) ids from job) j cross join lateral meanwhile.refuse_stored(j.ids) r where r is null
