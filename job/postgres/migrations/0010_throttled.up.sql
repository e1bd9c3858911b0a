-- readable from 9
-- Until when no job of a queue, or of one of its lanes, starts, since an upstream said that there are too many.

alter table meanwhile.queues add column held timestamptz;
alter table meanwhile.lanes add column held timestamptz;

-- As before, but for queues that are throttled, which it leaves to who claims by lane.
create or replace function meanwhile.claim(text[], int[], int, text, interval, timestamptz[], uuid[], text[], bigint, bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, next interval
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
begin
    if not meanwhile.begin_claim($9, $10, 0, $4, $5) then
        return;
    end if;
    perform pg_advisory_xact_lock_shared(hashtextextended('limits of meanwhile.queues', 0));
    return query
    select null::uuid, null::timestamptz, null::timestamptz, null::timestamptz, null::interval, null::smallint, null::int, null::int,
        null::int, null::int, w.queue, null::text, null::text, null::text, null::text, null::text, null::text, null::interval
    from unnest($1::text[], $2::int[]) w(queue, lim)
    where w.lim > 0 and (
        exists (select from meanwhile.queues q where q.queue = w.queue collate "C" and (q.limits is not null or q.held > now()))
        or exists (select from meanwhile.queued q where q.queue = w.queue collate "C" and q.limit_key is not null)
    );
    if found then
        return;
    end if;
    return query
    with wanted as materialized (
        select w.queue, w.lim, w.n
        from unnest($1::text[], $2::int[]) with ordinality w(queue, lim, n)
        where w.lim > 0 and not exists (select from meanwhile.queues q where q.queue = w.queue collate "C" and q.paused)
    ), moved as (
        delete from meanwhile.queued where ctid = any (array(
            select due.ctid
            from wanted w cross join lateral (
                select r.ctid
                from generate_series(9, 1, -1) p cross join lateral (
                    select ctid from meanwhile.queued q
                    where q.queue = w.queue collate "C" and q.priority = p::smallint and q.run_at <= now() and q.limit_key is null
                        and (q.run_at, q.id) > (($6::timestamptz[])[w.n * 9 - p + 1], ($7::uuid[])[w.n * 9 - p + 1])
                        and ($8 is null or q.kind = any ($8))
                    order by q.run_at, q.id
                    limit w.lim
                    for update skip locked
                ) r
                limit w.lim
            ) due
            limit $3
        ))
        returning *
    ), claimed as (
        insert into meanwhile.running (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
            queue, kind, worker, unique_key, args, detail, session, call, options)
        select id, run_at, created, now(), unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $4,
            unique_key, args, detail, $9, $10, options
        from moved
        on conflict (id) do nothing
        returning *
    )
    select c.id, c.run_at, c.created, c.started, c.unique_for, c.priority, c.attempt, c.spared, c.died, c.max_attempts,
        c.queue, c.kind, c.worker, c.unique_key, c.args, c.detail, c.options,
        n.next
    from (
        select case when (select count(*) from moved) < $3 then (
            select min(d.run_at) - now()
            from wanted w cross join generate_series(9, 1, -1) p cross join lateral (
                select q.run_at from meanwhile.queued q
                where q.queue = w.queue collate "C" and q.priority = p::smallint and q.run_at > now() and q.limit_key is null
                order by q.run_at, q.id
                limit 1
            ) d
        ) end as next
    ) n left join claimed c on true;
end $$;

-- As before, but that a lane which is throttled has no due job: the first is due when that is over.
create or replace function meanwhile.lanes_read(text, text[], timestamptz, boolean, int) returns table (
    key text, priority int, turn bigint, free timestamptz, running bigint, due int, next timestamptz, queued boolean
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
declare
    keys text[] := $2;
begin
    if keys is null then
        with gone as (
            delete from meanwhile.touched where ctid = any (array(
                select t.ctid from meanwhile.touched t where t.queue = $1 limit 5 * $5 for update skip locked
            )) returning key, queued
        )
        select array_agg(k.key) into keys from (
            select g.key from (select key, bool_or(queued) queued from gone group by key) g
            where g.queued or exists (select from meanwhile.lanes l where l.queue = $1 and l.key = g.key and l.priority = 0)
            union
            (select key from meanwhile.lanes where queue = $1 and wake <= $3 order by wake limit $5)
            union
            select ''
        ) k;
    end if;
    return query
    select k.key, coalesce(l.priority, 0)::int, coalesce(l.turn, 0), l.free,
        case when $4 and k.key <> '' then (
            select count(*) from meanwhile.running r where r.queue = $1 and r.limit_key is not null and r.limit_key = k.key
        ) else 0 end,
        case when l.held > $3 then 0 else d.priority end, case when l.held > $3 then l.held else d.next end, d.queued
    from unnest(keys) k(key)
        left join lateral (
            select l.priority, l.turn, l.free, l.held from meanwhile.lanes l where l.queue = $1 and l.key = k.key collate "C" limit 1
        ) l on true
        cross join lateral (
            select count(*) n, coalesce(max(f.priority) filter (where f.run_at <= $3), 0)::int due, min(f.run_at) filter (where f.run_at > $3) next
            from (
                select j.priority, j.run_at from meanwhile.queued j
                where j.queue = $1 and j.limit_key is not null and j.limit_key = k.key
                order by j.priority desc, j.run_at desc, j.id desc limit 4
            ) f
        ) few
        cross join lateral (
            select few.due as priority, few.next, few.n > 0 as queued where few.n < 4 and k.key <> ''
            union all
            select * from meanwhile.lane_due($1, k.key, $3) where few.n = 4 or k.key = ''
        ) d;
end $$;
