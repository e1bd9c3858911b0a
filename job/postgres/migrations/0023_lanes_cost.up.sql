-- readable from 9
-- Claims from queues with limits and lanes, for less.

-- How many jobs of a queue run at most, null where that is not known: as long as so many and what is claimed are within the limit, none are counted.
-- Every claim that writes it says so in claims. One of a program that does not know of it does not, and it is not known any more.
alter table meanwhile.queues add column most bigint, add column claims bigint not null default 0;
create function meanwhile.forget_most() returns trigger language plpgsql as $$
begin
    new.most := null;
    return new;
end $$;
create trigger queues_most before update of turn, limits on meanwhile.queues
    for each row when (new.claims = old.claims and new.most is not null) execute function meanwhile.forget_most();

-- The lanes whose jobs have changed by one call, in a few rows: what touched is for each job. The functions that write it say so to the triggers, which
-- write touched for all others.
create table meanwhile.noted (
    queue  text    collate "C" not null,
    keys   text[]  collate "C" not null,
    queued boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
create index noted_queue on meanwhile.noted (queue);

drop trigger queued_touch on meanwhile.queued;
drop trigger running_touch on meanwhile.running;
create trigger queued_touch after insert or update of queue, priority, run_at on meanwhile.queued for each row
    when (new.limit_key is not null and current_setting('meanwhile_jobs.lanes', true) is distinct from 'noted') execute function meanwhile.touch();
create trigger running_touch after delete on meanwhile.running for each row
    when (old.limit_key is not null and current_setting('meanwhile_jobs.lanes', true) is distinct from 'noted') execute function meanwhile.touch();

-- As insert.sql, for many jobs of which some have limit keys.
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
        returning queue, limit_key
    ), noted as (
        insert into meanwhile.noted (queue, keys, queued)
        select queue, array_agg(limit_key), true
        from (select queue, limit_key, row_number() over () / 500 as part from job where limit_key is not null) j group by queue, part
    )
    insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
    select * from unnest($12, $13, $14, $15, $16, $17);
end $$;

-- As settle_strict, for jobs of which some have limit keys: their lanes are noted.
create function meanwhile.settle_keyed(bigint, uuid[], int, text) returns setof uuid
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set meanwhile_jobs.lanes = 'noted' as $$
#variable_conflict use_column
begin
    return query
    with gone as (
        delete from meanwhile.running r where r.id = any ($2) and r.attempt = $3 and r.session = $1
        returning r.id, r.run_at, r.created, r.started, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
            r.kind, r.worker, r.args, r.options, r.limit_key
    ), put as (
        insert into meanwhile.finished (id, run_at, created, started, priority, attempt, spared, died, max_attempts, queue,
            kind, worker, args, options, finished, state)
        select id, run_at, created, started, priority, attempt, spared, died, max_attempts, queue, kind, worker, args, options, now(), $4
        from gone
    ), counted as (
        insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
        select -count(*), count(*) filter (where $4 = 'completed'), count(*) filter (where $4 = 'canceled'),
            count(*) filter (where $4 = 'discarded'), queue, kind
        from gone group by queue, kind
    ), noted as (
        insert into meanwhile.noted (queue, keys, queued)
        select queue, array_agg(limit_key), false from gone where limit_key is not null group by queue
    )
    select i from unnest($2) i
    where (select count(*) from gone) < cardinality($2) and not exists (select from gone g where g.id = i);
end $$;

-- Whether a queue has lanes of keys, or changes of any.
create function meanwhile.has_lanes(text) returns boolean
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return exists (select from meanwhile.queued j where j.queue = $1 and j.limit_key is not null)
        or exists (select from meanwhile.lanes l where l.queue = $1 and l.key > '')
        or exists (select from meanwhile.touched t where t.queue = $1)
        or exists (select from meanwhile.noted n where n.queue = $1);
end $$;

-- Begins the claim $2, of up to $6 jobs of the queue $5, of the session $1 of the worker $3 with the lease $4, and returns what is kept of the queue, the
-- time, and whether it has lanes of keys; nothing if it may not take jobs. The queue is locked, but where nothing bounds its jobs without a key
-- and it has no lanes. Running is how many run: no more than that, where $6 are within the limit then.
create function meanwhile.lanes_begin(bigint, bigint, text, interval, text, int) returns table (
    paused boolean, limits text, turn bigint, free timestamptz, held timestamptz, paid timestamptz, overrides int, running bigint, at timestamptz,
    keyed boolean
) language plpgsql set plan_cache_mode = 'force_generic_plan' set jit = off as $$
#variable_conflict use_column
declare
    q meanwhile.queues%rowtype;
    lanes boolean;
    bound int;
    most bigint := 0;
begin
    if not meanwhile.begin_claim($1, $2, 0, $3, $4) then
        return;
    end if;
    perform pg_advisory_xact_lock_shared(hashtextextended('limits of meanwhile.queues', 0));
    select w.* into q from meanwhile.queues w where w.queue = $5;
    lanes := meanwhile.has_lanes($5);
    if lanes or q.held > clock_timestamp() or q.limits::jsonb - 'each_key' <> '{}' then
        select w.* into q from meanwhile.queues w where w.queue = $5 for no key update;
        if not found then
            insert into meanwhile.queues (queue, paused) values ($5, false) on conflict do nothing;
            select w.* into q from meanwhile.queues w where w.queue = $5 for no key update;
        end if;
        lanes := meanwhile.has_lanes($5);
        bound := (q.limits::jsonb ->> 'running')::int;
        if bound > 0 then
            most := q.most;
            if (most + $6 <= bound) is not true then
                select count(*) into most from meanwhile.running r where r.queue = $5;
            end if;
        end if;
    end if;
    return query
    select coalesce(q.paused, false), q.limits, coalesce(q.turn, 0), q.free, q.held, q.paid, coalesce(q.overrides, 0), most, clock_timestamp(), lanes;
end $$;

-- Takes up to $2 due jobs without a key of the queue $1 for the worker $3, the session $4 and its claim $5, at the time $9, as claim_strict does. With $10, so
-- many jobs of the queue, which is locked, run at most before.
create function meanwhile.claim_keyless(text, int, text, bigint, bigint, timestamptz[], uuid[], text[], timestamptz, bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, next interval
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
begin
    return query
    with moved as (
        delete from meanwhile.queued where ctid = any (array(
            select r.ctid
            from generate_series(9, 1, -1) p cross join lateral (
                select ctid from meanwhile.queued q
                where q.queue = $1 and q.priority = p::smallint and q.run_at <= $9 and q.limit_key is null
                    and (q.run_at, q.id) > ($6[10 - p], $7[10 - p])
                    and ($8 is null or q.kind = any ($8))
                order by q.run_at, q.id
                limit $2
                for update skip locked
            ) r
            limit $2
        ))
        returning *
    ), claimed as (
        insert into meanwhile.running (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
            queue, kind, worker, unique_key, args, detail, session, call, options)
        select id, run_at, created, $9, unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $3,
            unique_key, args, detail, $4, $5, options
        from moved
        returning *
    ), counted as (
        update meanwhile.queues q set claims = q.claims + 1, turn = q.turn, most = $10 + (select count(*) from moved)
        where $10 is not null and q.queue = $1
    )
    select c.id, c.run_at, c.created, c.started, c.unique_for, c.priority, c.attempt, c.spared, c.died, c.max_attempts,
        c.queue, c.kind, c.worker, c.unique_key, c.args, c.detail, c.options, n.next
    from (
        select case when (select count(*) from moved) < $2 then (
            select min(d.run_at) - now()
            from generate_series(9, 1, -1) p cross join lateral (
                select q.run_at from meanwhile.queued q
                where q.queue = $1 and q.priority = p::smallint and q.run_at > $9 and q.limit_key is null
                order by q.run_at, q.id
                limit 1
            ) d
        ) end as next
    ) n left join claimed c on true;
end $$;

-- As before, but also of the lanes that are noted, and jobs that stopped running change nothing where it does not matter how many do. Of most lanes
-- only the last of their jobs is read: where it is due, none has a higher priority, and all of its priority are due.
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
        ), noted as (
            delete from meanwhile.noted where ctid = any (array(
                select n.ctid from meanwhile.noted n where n.queue = $1 limit $5 / 100 for update skip locked
            )) returning keys, queued
        )
        select array_agg(k.key) into keys from (
            select g.key from (
                select a.key, bool_or(a.queued) queued
                from (select key, queued from gone union all select unnest(keys), queued from noted) a group by a.key
            ) g
            where g.queued or $4 and exists (select from meanwhile.lanes l where l.queue = $1 and l.key = g.key and l.priority = 0)
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
        left join lateral (
            select j.priority, j.run_at from meanwhile.queued j
            where not ordered and k.key <> '' and j.queue = $1 and j.limit_key is not null and j.limit_key = k.key
            order by j.priority desc, j.run_at desc, j.id desc limit 1
        ) last on true
        cross join lateral (
            select count(*) n, coalesce(max(f.priority) filter (where f.run_at <= $3), 0)::int due, min(f.run_at) filter (where f.run_at > $3) next
            from (
                select j.priority, j.run_at from meanwhile.queued j
                where last.run_at > $3 and j.queue = $1 and j.limit_key is not null and j.limit_key = k.key
                order by j.priority desc, j.run_at desc, j.id desc limit 4
            ) f
        ) few
        cross join lateral (
            select last.priority::int as priority, null::timestamptz as next, true as queued where last.run_at <= $3
            union all
            select 0, null, false where last.run_at is null and k.key <> '' and not ordered
            union all
            select few.due, few.next, true where last.run_at > $3 and (few.n < 4 or few.due > 0)
            union all
            select * from meanwhile.lane_due($1, k.key, $3) where last.run_at > $3 and few.n = 4 and few.due = 0 or k.key = ''
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

-- As lanes_take, but it fails where a job with the same ID is running already, as claim_strict.
create function meanwhile.lanes_give(text, int, text[], int[], timestamptz, text, bigint, text[], bigint) returns table (
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
    returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
        r.kind, r.worker, r.unique_key, r.args, r.detail, r.options;
end $$;

-- Writes the lanes $2 of the queue $1, whose lock is held, and deletes those that $7 says are over.
create function meanwhile.lanes_put(text, text[], smallint[], bigint[], timestamptz[], timestamptz[], boolean[], timestamptz[], int[]) returns void
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
declare
    changed bigint;
begin
    update meanwhile.lanes l set priority = w.priority, turn = w.turn, free = w.free, wake = w.wake, paid = w.paid, served = w.served
    from unnest($2, $3, $4, $5, $6, $7, $8, $9) w(key, priority, turn, free, wake, over, paid, served) cross join lateral (
        select f.ctid from meanwhile.lanes f where f.queue = $1 and f.key = w.key collate "C" limit 1
    ) f
    where not w.over and l.ctid = f.ctid;
    get diagnostics changed = row_count;
    if changed = cardinality($2) then
        return;
    end if;
    delete from meanwhile.lanes where ctid = any (array(
        select f.ctid from unnest($2, $7) w(key, over) cross join lateral (
            select f.ctid from meanwhile.lanes f where f.queue = $1 and f.key = w.key collate "C" limit 1
        ) f
        where w.over
    ));
    insert into meanwhile.lanes (queue, key, priority, turn, free, wake, paid, served)
    select $1, w.key, w.priority, w.turn, w.free, w.wake, w.paid, w.served
    from unnest($2, $3, $4, $5, $6, $7, $8, $9) w(key, priority, turn, free, wake, over, paid, served) left join lateral (
        select f.ctid from meanwhile.lanes f where f.queue = $1 and f.key = w.key collate "C" limit 1
    ) f on true
    where not w.over and f.ctid is null;
end $$;
