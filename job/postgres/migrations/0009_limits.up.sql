-- Limits of queues, and the lanes that they are kept by: the queued jobs of a queue that have one limit key, or none.

-- The key is the last of the options, which are not read whole: what else they say may be what jsonb does not take.
alter table meanwhile.queued add column limit_key text collate "C" generated always as (
    case when strpos(options, '"limit_key":["') > 0
        then left(substr(options, strpos(options, '"limit_key":["') + 12), -1)::jsonb ->> 0 end
) stored;
alter table meanwhile.running add column limit_key text collate "C" generated always as (
    case when strpos(options, '"limit_key":["') > 0
        then left(substr(options, strpos(options, '"limit_key":["') + 12), -1)::jsonb ->> 0 end
) stored;

-- Queued jobs with a key are claimed by lane, the others as before.
drop index meanwhile.queued_due;
create index queued_due on meanwhile.queued (queue, priority, run_at, id) where limit_key is null;
create index queued_lane on meanwhile.queued (queue, limit_key, priority, run_at, id) where limit_key is not null;
-- To find the oldest. Its condition is another one, so that nothing else takes this index.
create index queued_keyed on meanwhile.queued (queue, run_at) where limit_key > '';
create index running_lane on meanwhile.running (queue, limit_key) where limit_key is not null;

-- Who claims from a queue with lanes has its row locked. Turn is the last that was given, free is what is kept of a rate.
alter table meanwhile.queues add column limits text, add column turn bigint not null default 0, add column free timestamptz;
alter table meanwhile.queues set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- The key of jobs without one is ''. The priority is 0 while no job of the lane may start; lanes with the lowest turn come first; wake
-- is when to look at the lane again.
create table meanwhile.lanes (
    queue    text     collate "C" not null,
    key      text     collate "C" not null,
    priority smallint not null,
    turn     bigint   not null,
    free     timestamptz,
    wake     timestamptz,
    primary key (queue, key)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index lanes_open on meanwhile.lanes (queue, priority, turn) where priority > 0;
create index lanes_wake on meanwhile.lanes (queue, wake) where wake is not null;

-- The lanes whose jobs have changed: a job was queued, or stopped running. Every writer appends, so that none waits for another; the next
-- claim takes the rows.
create table meanwhile.touched (
    queue  text    collate "C" not null,
    key    text    collate "C" not null,
    queued boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index touched_queue on meanwhile.touched (queue);

create function meanwhile.touch() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        insert into meanwhile.touched (queue, key, queued) values (old.queue, old.limit_key, false);
    else
        insert into meanwhile.touched (queue, key, queued) values (new.queue, new.limit_key, true);
    end if;
    return null;
end $$;
create trigger queued_touch after insert or update of queue, priority, run_at on meanwhile.queued
    for each row when (new.limit_key is not null) execute function meanwhile.touch();
create trigger running_touch after delete on meanwhile.running
    for each row when (old.limit_key is not null) execute function meanwhile.touch();

-- The claim of before, of jobs without a key. Where one of the queues has limits or queued jobs with keys, it takes nothing, and returns
-- rows that have nothing but the names of those. Nobody sets limits meanwhile: see limits_lock.sql.
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
        exists (select from meanwhile.queues q where q.queue = w.queue collate "C" and q.limits is not null)
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

-- The highest priority of a due job of a lane, the first time at which one of a higher priority becomes due, and whether any is queued.
create function meanwhile.lane_due(q text, k text, at timestamptz, out priority int, out next timestamptz, out queued boolean)
language plpgsql stable as $$
#variable_conflict use_column
declare
    p int := 10;
    due timestamptz;
begin
    priority := 0;
    queued := false;
    loop
        if k = '' then
            select j.priority into p from meanwhile.queued j
            where j.queue = q and j.limit_key is null and j.priority < p order by j.priority desc, j.run_at desc, j.id desc limit 1;
        else
            select j.priority into p from meanwhile.queued j
            where j.queue = q and j.limit_key is not null and j.limit_key = k and j.priority < p
            order by j.priority desc, j.run_at desc, j.id desc limit 1;
        end if;
        exit when p is null;
        queued := true;
        if k = '' then
            select j.run_at into due from meanwhile.queued j
            where j.queue = q and j.limit_key is null and j.priority = p order by j.run_at, j.id limit 1;
        else
            select j.run_at into due from meanwhile.queued j
            where j.queue = q and j.limit_key is not null and j.limit_key = k and j.priority = p order by j.run_at, j.id limit 1;
        end if;
        if due <= at then
            priority := p;
            exit;
        end if;
        next := least(next, due);
    end loop;
end $$;

-- What there is to know of the lanes $2 of the queue $1, or, where that is null, of those that have changed, or whose time has come by $3,
-- at most $5, and of that of the jobs without a key. With $4 it counts how many of their jobs run. Most lanes have few jobs, which are
-- all read. Where jobs have only stopped running, nothing has changed for a lane that is open, or that has no queued jobs.
create function meanwhile.lanes_read(text, text[], timestamptz, boolean, int) returns table (
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
        d.priority, d.next, d.queued
    from unnest(keys) k(key)
        left join lateral (
            select l.priority, l.turn, l.free from meanwhile.lanes l where l.queue = $1 and l.key = k.key collate "C" limit 1
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

-- Up to $5 lanes of the queue $1 that are open, by priority from $2 down and by turn. Of the priority $2 it is those whose turn is more than $3 and
-- at most $4. With $7, a lane is also in the lower priorities that it has due jobs of at $8. With $6 it counts how many of their jobs run.
create function meanwhile.lanes_open(text, int, bigint, bigint, int, boolean, boolean, timestamptz) returns table (
    key text, priority int, turn bigint, free timestamptz, running bigint
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
    return query
    select o.key, p.p, o.turn, o.free, case when $6 and o.key <> '' then (
        select count(*) from meanwhile.running r where r.queue = $1 and r.limit_key is not null and r.limit_key = o.key
    ) else 0 end
    from generate_series($2, 1, -1) p(p) cross join lateral (
        (
            select l.key, l.turn, l.free from meanwhile.lanes l
            where l.queue = $1 and l.priority = p.p::smallint and l.priority > 0 and (p.p < $2 or l.turn > $3 and l.turn <= $4)
            order by l.turn limit $5
        )
        union all
        (
            select l.key, l.turn, l.free from meanwhile.lanes l
            where $7 and l.queue = $1 and l.priority > p.p::smallint and l.priority > 0 and (p.p < $2 or l.turn > $3 and l.turn <= $4)
                and case when l.key = '' then (
                    select true from meanwhile.queued j
                    where j.queue = $1 and j.limit_key is null and j.priority = p.p::smallint and j.run_at <= $8
                    limit 1
                ) else (
                    select true from meanwhile.queued j
                    where j.queue = $1 and j.limit_key is not null and j.limit_key = l.key and j.priority = p.p::smallint
                        and j.run_at <= $8
                    limit 1
                ) end
            limit $5
        )
    ) o
    limit $5;
end $$;

-- Takes up to $4[i] jobs of the lane $3[i] of the queue $1 that are due at $5 and have the priority $2, for the claim $9 of the session $7
-- of the worker $6, of the kinds $8; null is all.
create function meanwhile.lanes_take(text, int, text[], int[], timestamptz, text, bigint, text[], bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
    return query
    with moved as (
        delete from meanwhile.queued where ctid = any (array(
            select due.ctid from unnest($3, $4) w(key, want) cross join lateral (
                select k.ctid from (
                    select q.ctid from meanwhile.queued q
                    where w.key <> '' and q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C"
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
