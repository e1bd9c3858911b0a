-- readable from 9
-- The discarded jobs that those behind them in their lanes wait for, where the limits of the queue say so.
create table meanwhile.holders (
    queue   text        collate "C" not null,
    key     text        collate "C" not null,
    created timestamptz not null,
    id      uuid        not null,
    primary key (queue, key, created, id)
);

create function meanwhile.hold() returns trigger language plpgsql as $$
begin
    insert into meanwhile.holders (queue, key, created, id)
    select new.queue, left(substr(new.options, strpos(new.options, '"limit_key":["') + 12), -1)::jsonb ->> 0, new.created, new.id
    from meanwhile.queues q where q.queue = new.queue and q.limits::jsonb #>> '{each_key,hold_on_discard}' = 'true'
    on conflict do nothing;
    return null;
end $$;
create trigger finished_hold after insert on meanwhile.finished
    for each row when (new.state = 'discarded' and strpos(new.options, '"limit_key":["') > 0) execute function meanwhile.hold();

-- One that is retried or deleted: the next claim looks at its lane again.
create function meanwhile.release() returns trigger language plpgsql as $$
begin
    with gone as (
        delete from meanwhile.holders h
        where h.queue = old.queue and h.key = left(substr(old.options, strpos(old.options, '"limit_key":["') + 12), -1)::jsonb ->> 0 and h.created = old.created and h.id = old.id
        returning h.queue, h.key
    )
    insert into meanwhile.touched (queue, key, queued) select queue, key, true from gone;
    return null;
end $$;
create trigger finished_release after delete on meanwhile.finished
    for each row when (old.state = 'discarded' and strpos(old.options, '"limit_key":["') > 0) execute function meanwhile.release();

-- As before, but that no job is due in a lane whose first queued job has one before it that holds it.
create or replace function meanwhile.lanes_read(text, text[], timestamptz, boolean, int) returns table (
    key text, priority int, turn bigint, free timestamptz, running bigint, due int, next timestamptz, queued boolean
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
declare
    keys text[] := $2;
    ordered boolean := coalesce((select q.limits::jsonb #>> '{each_key,in_order}' from meanwhile.queues q where q.queue = $1) = 'true', false);
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
                where not ordered and j.queue = $1 and j.limit_key is not null and j.limit_key = k.key
                order by j.priority desc, j.run_at desc, j.id desc limit 4
            ) f
        ) few
        cross join lateral (
            select few.due as priority, few.next, few.n > 0 as queued where few.n < 4 and k.key <> '' and not ordered
            union all
            select * from meanwhile.lane_due($1, k.key, $3) where few.n = 4 or k.key = ''
            union all
            select case when f.run_at <= $3 and not f.held then f.priority::int else 0 end,
                case when f.run_at > $3 and not f.held then f.run_at end, f.run_at is not null
            from (select 1) one left join lateral (
                select j.priority, j.run_at, exists (
                    select from meanwhile.holders h
                    where h.queue = $1 and h.key = k.key and (h.created, h.id) < (j.created, j.id)
                ) held
                from meanwhile.queued j
                where j.queue = $1 and j.limit_key <> '' and j.limit_key = k.key
                order by j.created, j.id limit 1
            ) f on true
            where ordered and k.key <> ''
        ) d;
end $$;

-- As before, but that no job is taken of such a lane.
create or replace function meanwhile.lanes_take(text, int, text[], int[], timestamptz, text, bigint, text[], bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    ordered boolean := coalesce((select q.limits::jsonb #>> '{each_key,in_order}' from meanwhile.queues q where q.queue = $1) = 'true', false);
begin
    return query
    with moved as (
        delete from meanwhile.queued where ctid = any (array(
            select due.ctid from unnest($3, $4) w(key, want) cross join lateral (
                select k.ctid from (
                    select q.ctid from meanwhile.queued q
                    where w.key <> '' and not ordered and q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C"
                        and q.priority = $2::smallint and q.run_at <= $5 and ($8 is null or q.kind = any ($8))
                    order by q.run_at, q.id limit w.want for update skip locked
                ) k
                union all
                select n.ctid from (
                    select q.ctid from meanwhile.queued q
                    where w.key = '' and q.queue = $1 and q.limit_key is null
                        and q.priority = $2::smallint and q.run_at <= $5 and ($8 is null or q.kind = any ($8))
                    order by q.run_at, q.id limit w.want for update skip locked
                ) n
                union all
                select f.ctid from (
                    select q.ctid from meanwhile.queued q
                    where ordered and w.key <> '' and q.ctid = (
                        select h.ctid from meanwhile.queued h
                        where h.queue = $1 and h.limit_key <> '' and h.limit_key = w.key collate "C"
                        order by h.created, h.id limit 1
                    ) and q.priority = $2::smallint and q.run_at <= $5 and ($8 is null or q.kind = any ($8)) and not exists (
                        select from meanwhile.holders d
                        where d.queue = $1 and d.key = w.key collate "C" and (d.created, d.id) < (q.created, q.id)
                    )
                    for update skip locked
                ) f
            ) due
        ))
        returning *
    )
    insert into meanwhile.running as r (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
        queue, kind, worker, unique_key, args, detail, session, call, options)
    select id, run_at, created, $5, unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $6,
        unique_key, args, detail, $7, $9, options
    from moved
    on conflict (id) do nothing
    returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
        r.kind, r.worker, r.unique_key, r.args, r.detail, r.options;
end $$;

-- As before, for lanes_take as it is now.
create or replace function meanwhile.lanes_cost(text, int, text[], int[], timestamptz, text[]) returns table (lane bigint, cost bigint)
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    ordered boolean := coalesce((select q.limits::jsonb #>> '{each_key,in_order}' from meanwhile.queues q where q.queue = $1) = 'true', false);
begin
    return query
    select w.n, coalesce(substring(due.options from '^\{"cost":([0-9]+)')::bigint, 0)
    from unnest($3, $4) with ordinality w(key, want, n) cross join lateral (
        select k.* from (
            select q.options, q.run_at, q.id from meanwhile.queued q
            where w.key <> '' and not ordered and q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C"
                and q.priority = $2::smallint and q.run_at <= $5 and ($6 is null or q.kind = any ($6))
            order by q.run_at, q.id limit w.want
        ) k
        union all
        select n.* from (
            select q.options, q.run_at, q.id from meanwhile.queued q
            where w.key = '' and q.queue = $1 and q.limit_key is null
                and q.priority = $2::smallint and q.run_at <= $5 and ($6 is null or q.kind = any ($6))
            order by q.run_at, q.id limit w.want
        ) n
        union all
        select f.* from (
            select q.options, q.run_at, q.id from meanwhile.queued q
            where ordered and w.key <> '' and q.ctid = (
                select h.ctid from meanwhile.queued h
                where h.queue = $1 and h.limit_key <> '' and h.limit_key = w.key collate "C"
                order by h.created, h.id limit 1
            ) and q.priority = $2::smallint and q.run_at <= $5 and ($6 is null or q.kind = any ($6)) and not exists (
                select from meanwhile.holders d
                where d.queue = $1 and d.key = w.key collate "C" and (d.created, d.id) < (q.created, q.id)
            )
            limit w.want
        ) f
    ) due
    order by w.n, due.run_at, due.id;
end $$;

-- The next $3 limit keys after $2 of the queue $1 that have a lane or queued jobs.
create function meanwhile.lanes_keys(text, text, int) returns setof text
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off as $$
begin
    return query
    with recursive k(key) as (
        select (
            select j.limit_key from meanwhile.queued j
            where j.queue = $1 and j.limit_key is not null and j.limit_key > $2 order by j.limit_key limit 1
        )
        union all
        select (
            select j.limit_key from meanwhile.queued j
            where j.queue = $1 and j.limit_key is not null and j.limit_key > k.key order by j.limit_key limit 1
        ) from k where k.key is not null
    )
    (select l.key from meanwhile.lanes l where l.queue = $1 and l.key > $2 order by l.key limit $3)
    union
    (select k.key from k where k.key is not null limit $3)
    order by 1 limit $3;
end $$;
