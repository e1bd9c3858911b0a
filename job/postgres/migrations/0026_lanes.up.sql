-- readable from 26
-- Lanes are kept in memory by each process that claims. The database has what they are made of, what rates and throttling say of them, and what has changed.

drop trigger queues_most on meanwhile.queues;
drop function meanwhile.forget_most();
drop function meanwhile.lanes_begin(bigint, bigint, text, interval, text, int);
drop function meanwhile.lanes_read(text, text[], timestamptz, boolean, int);
drop function meanwhile.lanes_open(text, int, bigint, bigint, int, boolean, boolean, timestamptz);
drop function meanwhile.lanes_put(text, text[], smallint[], bigint[], timestamptz[], timestamptz[], boolean[], timestamptz[], int[]);
drop function meanwhile.lane_due(text, text, timestamptz);

-- The first waiting job of a lane comes first.
drop index meanwhile.queued_lane;
create index queued_lane on meanwhile.queued (queue, limit_key, priority desc, run_at, id) where limit_key is not null;

-- What rates and throttling say of a lane, until idle: from then on it is as if they said nothing.
alter table meanwhile.lanes drop column priority, drop column turn, drop column wake, drop column served, add column idle timestamptz;
delete from meanwhile.lanes where free is null and paid is null and held is null or key = '';
update meanwhile.lanes set idle = greatest(free + interval '50 ms', paid + interval '50 ms', held);
alter table meanwhile.lanes alter column idle set not null;
create index lanes_idle on meanwhile.lanes (queue, idle);

-- The lanes that have changed, by those who changed them: touched is a row for each job or lane, noted has those of one call. The next claim moves them to
-- changes, by the number that it gives: all processes that claim read them there. The key, or the keys, are null where any lane of the queue may have changed
-- but for its jobs. Priority and run_at are of new jobs, the highest and the first; the priority is 0 where jobs have ended, less where a claim says
-- what it has made of turns; null otherwise.
alter table meanwhile.touched drop column queued, alter column key drop not null, add column priority smallint, add column run_at timestamptz;
alter table meanwhile.noted drop column queued, add column priority smallint, add column run_at timestamptz;
create table meanwhile.changes (
    queue    text     collate "C" not null,
    n        bigint   not null,
    tag      bigint   not null, -- of the claim
    keys     text[]   collate "C",
    priority smallint,
    run_at   timestamptz,
    primary key (queue, n)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, toast_tuple_target = 8160);
alter table meanwhile.noted set (toast_tuple_target = 8160);

-- Changed is the number of the last of the changes.
alter table meanwhile.queues drop column turn, drop column claims, add column changed bigint not null default 0;

-- Whether a queue has lanes of keys, or changes of any.
create or replace function meanwhile.has_lanes(text) returns boolean
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return exists (select from meanwhile.queued j where j.queue = $1 and j.limit_key is not null)
        or exists (select from meanwhile.lanes l where l.queue = $1)
        or exists (select from meanwhile.touched t where t.queue = $1)
        or exists (select from meanwhile.noted n where n.queue = $1);
end $$;

insert into meanwhile.touched (queue) select queue from meanwhile.queues where meanwhile.has_lanes(queue);

create or replace function meanwhile.touch() returns trigger language plpgsql as $$
begin
    case tg_op
    when 'DELETE' then
        insert into meanwhile.touched (queue, key, priority) values (old.queue, old.limit_key, 0);
    when 'INSERT' then
        insert into meanwhile.touched (queue, key, priority, run_at) values (new.queue, new.limit_key, new.priority, new.run_at);
    else
        insert into meanwhile.touched (queue, key) values (new.queue, new.limit_key);
    end case;
    return null;
end $$;

create or replace function meanwhile.release() returns trigger language plpgsql as $$
begin
    with gone as (
        delete from meanwhile.holders h
        where h.queue = old.queue and h.key = left(substr(old.options, strpos(old.options, '"limit_key":["') + 12), -1)::jsonb ->> 0 and h.created = old.created and h.id = old.id
        returning h.queue, h.key
    )
    insert into meanwhile.touched (queue, key) select queue, key from gone;
    return null;
end $$;

create or replace function meanwhile.insert_noted(uuid[], text[], timestamptz[], interval[], smallint[], int[], text[], text[], text[], interval[], text[],
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

create or replace function meanwhile.settle_keyed(bigint, uuid[], int, text) returns setof uuid
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
        insert into meanwhile.noted (queue, keys, priority)
        select queue, array_agg(limit_key), 0 from gone where limit_key is not null group by queue
    )
    select i from unnest($2) i
    where (select count(*) from gone) < cardinality($2) and not exists (select from gone g where g.id = i);
end $$;

-- What has changed in the lanes of the queue $1, whose lock is held, behind the change $2, if that is there and has the tag $3: otherwise, and when there are
-- more than 1,000 changes, or 50,000 keys in them, known is false, and none is returned. Last is the number of the last one. What nobody has numbered gets its number and the
-- tag $4: moved is whether there was any, more whether some are left.
create function meanwhile.lanes_changed(text, bigint, bigint, bigint) returns table (
    known boolean, last bigint, moved boolean, more boolean, n bigint, tag bigint, keys text[], priority smallint, run_at timestamptz
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set jit = off as $$
#variable_conflict use_column
declare
    before bigint := (select q.changed from meanwhile.queues q where q.queue = $1);
    is_known boolean := exists (select from meanwhile.changes c where c.queue = $1 and c.n = $2 and c.tag = $3);
    is_more boolean;
    number bigint;
begin
    with t as (
        delete from meanwhile.touched where ctid = any (array(select t.ctid from meanwhile.touched t where t.queue = $1 limit 2000))
        returning key, priority, run_at
    ), n as (
        delete from meanwhile.noted where ctid = any (array(select n.ctid from meanwhile.noted n where n.queue = $1 limit 20))
        returning keys, priority, run_at
    ), found as (
        select nullif(array_agg(key), array[null::text]) as keys, priority, min(run_at) as run_at from (select distinct * from t) t group by priority, key is null
        union all
        select keys, priority, run_at from n
    ), put as (
        insert into meanwhile.changes (queue, n, tag, keys, priority, run_at)
        select $1, before + row_number() over (), $4, keys, priority, run_at from found
        returning 1
    )
    select (select count(*) from t) = 2000 or (select count(*) from n) = 20, (select count(*) from put) into is_more, number;
    if number > 0 then
        update meanwhile.queues set changed = before + number where queue = $1;
        delete from meanwhile.changes where queue = $1 and n > before - 1000 and n <= before + number - 1000;
    end if;
    if is_known then
        is_known := before + number - $2 <= 1000
            and (select coalesce(sum(cardinality(c.keys)), 0) from meanwhile.changes c where c.queue = $1 and c.n > $2) <= 50000;
    end if;
    return query
    select is_known, before + number, number > 0, is_more, c.n, c.tag, c.keys, c.priority, c.run_at
    from (select 1) one left join lateral (
        select c.* from meanwhile.changes c where is_known and c.queue = $1 and c.n > $2 order by c.n
    ) c on true;
end $$;

-- The highest priority of a due job without a key of the queue $1 at $2, the first time at which one of a higher priority becomes due, and whether any is queued.
create function meanwhile.lane_plain(q text, at timestamptz, out priority int, out next timestamptz, out queued boolean)
language plpgsql stable set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    p int := 10;
    due timestamptz;
begin
    priority := 0;
    queued := false;
    loop
        select j.priority into p from meanwhile.queued j
        where j.queue = q and j.limit_key is null and j.priority < p order by j.priority desc, j.run_at desc, j.id desc limit 1;
        exit when p is null;
        queued := true;
        select j.run_at into due from meanwhile.queued j
        where j.queue = q and j.limit_key is null and j.priority = p order by j.run_at, j.id limit 1;
        if due <= at then
            priority := p;
            exit;
        end if;
        next := least(next, due);
    end loop;
end $$;

-- Begins the claim $2, of up to $6 jobs of the queue $5, of the session $1 of the worker $3 with the lease $4, and returns what is kept of the queue, the
-- time, and whether it has lanes of keys, with what is due without a key and what has changed in these, see lanes_changed; nothing if it may not take jobs. The queue is locked, but where
-- nothing bounds its jobs without a key and it has no lanes. Running is how many run: no more than that, where $6 are within the limits then. So it
-- is where each key may have so many that to count all of the queue now and then costs less.
create function meanwhile.lanes_begin(bigint, bigint, text, interval, text, int, bigint, bigint, bigint) returns table (
    paused boolean, limits text, free timestamptz, held timestamptz, paid timestamptz, overrides int, running bigint, at timestamptz,
    keyed boolean, kept boolean, plain int, plain_next timestamptz, plain_queued boolean, known boolean, last bigint, moved boolean, more boolean, n bigint, tag bigint, keys text[], priority smallint, run_at timestamptz
) language plpgsql set plan_cache_mode = 'force_generic_plan' set jit = off as $$
#variable_conflict use_column
declare
    q meanwhile.queues%rowtype;
    lanes boolean;
    bound int;
    most bigint := 0;
    now timestamptz;
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
        if lanes and (q.limits::jsonb #>> '{each_key,running}')::int >= 10000 then
            bound := least(bound, (q.limits::jsonb #>> '{each_key,running}')::int);
        end if;
        if bound > 0 then
            most := q.most;
            if (most + $6 <= bound) is not true then
                select count(*) into most from meanwhile.running r where r.queue = $5;
            end if;
        end if;
    end if;
    now := clock_timestamp();
    return query
    select coalesce(q.paused, false), q.limits, q.free, q.held, q.paid, coalesce(q.overrides, 0), most, now, lanes,
        exists (select from meanwhile.lanes l where l.queue = $5), p.*, c.*
    from (select 1) one
        left join lateral (select * from meanwhile.lane_plain($5, now) where lanes) p on true
        left join lateral (select * from meanwhile.lanes_changed($5, $7, $8, $9) where lanes and not q.paused) c on true;
end $$;

-- As before.
create or replace function meanwhile.claim_keyless(text, int, text, bigint, bigint, timestamptz[], uuid[], text[], timestamptz, bigint) returns table (
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
        update meanwhile.queues q set most = $10 + (select count(*) from moved)
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

-- Up to $4 waiting jobs of each of the lanes $2 of the queue $1, by their numbers, of a priority below $3, the highest first, then by time and ID.
create function meanwhile.lanes_heads(text, text[], smallint[], int) returns table (lane bigint, priority smallint, run_at timestamptz, id uuid, place tid)
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    select w.n, h.* from unnest($2, $3) with ordinality w(key, below, n) cross join lateral (
        select q.priority, q.run_at, q.id, q.ctid from meanwhile.queued q
        where q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C" and q.priority < w.below
        order by q.priority desc, q.run_at, q.id limit $4
    ) h;
end $$;

-- Up to $6 due jobs of each of the lanes $2 of the queue $1, by their numbers, that have the priorities $3 and come after the times $4 and the IDs $5; $7 is now.
create function meanwhile.lanes_more(text, text[], smallint[], timestamptz[], uuid[], int[], timestamptz) returns table (
    lane bigint, priority smallint, run_at timestamptz, id uuid, place tid
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    select w.n, h.* from unnest($2, $3, $4, $5, $6) with ordinality w(key, priority, run_at, id, want, n) cross join lateral (
        select q.priority, q.run_at, q.id, q.ctid from meanwhile.queued q
        where q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C" and q.priority = w.priority and q.run_at <= $7
            and (q.run_at, q.id) > (w.run_at, w.id)
        order by q.run_at, q.id limit w.want
    ) h;
end $$;

-- The next $3 lanes of the queue $1 after the key $2, each with its first $4 waiting jobs. Those behind these are passed over.
create function meanwhile.lanes_load(text, text, int, int) returns table (key text, priority smallint, run_at timestamptz, id uuid, place tid)
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
declare
    j record;
    lanes int := 0;
    of_lane int := 0;
    passed boolean := true;
begin
    key := $2;
    while passed loop
        passed := false;
        for j in
            select q.limit_key, q.priority, q.run_at, q.id, q.ctid from meanwhile.queued q
            where q.queue = $1 and q.limit_key is not null and q.limit_key > key
            order by q.limit_key, q.priority desc, q.run_at, q.id limit $3 * $4
        loop
            if of_lane = 0 or j.limit_key <> key then
                exit when lanes = $3;
                lanes := lanes + 1;
                of_lane := 0;
                key := j.limit_key;
            end if;
            of_lane := of_lane + 1;
            priority := j.priority;
            run_at := j.run_at;
            id := j.id;
            place := j.ctid;
            return next;
            if of_lane = $4 then
                passed := true;
                of_lane := 0;
                exit;
            end if;
        end loop;
    end loop;
end $$;

-- Of each of the lanes $2 of the queue $1, whose jobs run in order, the priority of the first job if it is due at $3, or when it is, and whether any is queued.
create function meanwhile.lanes_first(text, text[], timestamptz) returns table (lane bigint, priority int, next timestamptz, queued boolean)
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    select w.n, case when f.run_at <= $3 and not f.held then f.priority::int else 0 end, case when f.run_at > $3 and not f.held then f.run_at end,
        f.run_at is not null
    from unnest($2) with ordinality w(key, n) left join lateral (
        select j.priority, j.run_at, exists (
            select from meanwhile.holders h where h.queue = $1 and h.key = w.key collate "C" and (h.created, h.id) < (j.created, j.id)
        ) held
        from meanwhile.queued j
        where j.queue = $1 and j.limit_key <> '' and j.limit_key = w.key collate "C"
        order by j.created, j.id limit 1
    ) f on true;
end $$;

-- Those of the lanes $2 of the queue $1, '' among them, that have a job of the priority $3 that is due at $4.
create function meanwhile.lanes_due(text, text[], smallint, timestamptz) returns setof text
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
    return query
    select w.key from unnest($2) w(key)
    where case when w.key = '' then (
        select true from meanwhile.queued j
        where j.queue = $1 and j.limit_key is null and j.priority = $3 and j.run_at <= $4
        limit 1
    ) else (
        select true from meanwhile.queued j
        where j.queue = $1 and j.limit_key is not null and j.limit_key = w.key collate "C" and j.priority = $3 and j.run_at <= $4
        limit 1
    ) end;
end $$;

-- What is kept of the lanes $2 of the queue $1, with $4, the limits of their keys alone, with $5, and how many of their jobs run, with $3.
create function meanwhile.lanes_kept(text, text[], boolean, boolean, boolean) returns table (
    lane bigint, free timestamptz, paid timestamptz, held timestamptz, limits text, running bigint
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    select w.n, l.free, l.paid, l.held, o.limits, case when $3 then (
        select count(*) from meanwhile.running r where r.queue = $1 and r.limit_key is not null and r.limit_key = w.key collate "C"
    ) else 0 end
    from unnest($2) with ordinality w(key, n)
        left join lateral (select l.free, l.paid, l.held from meanwhile.lanes l where $4 and l.queue = $1 and l.key = w.key collate "C" limit 1) l on true
        left join lateral (select o.limits from meanwhile.overrides o where $5 and o.queue = $1 and o.key = w.key collate "C" limit 1) o on true;
end $$;

-- Gives those of the jobs $3 that wait at $4 in the queue $1, have the priority $2 and are due at $5 to the claim $8 of the session $7 of the worker $6. It
-- fails where one is running already.
create function meanwhile.lanes_hold(text, smallint, uuid[], tid[], timestamptz, text, bigint, bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    with moved as (
        delete from meanwhile.queued where ctid = any (array(
            select f.ctid from unnest($3, $4) w(id, place) cross join lateral (
                select q.ctid from meanwhile.queued q
                where q.ctid = w.place and q.id = w.id and q.queue = $1 and q.limit_key is not null and q.priority = $2 and q.run_at <= $5
                for update skip locked
            ) f
        ))
        returning *
    )
    insert into meanwhile.running as r (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
        queue, kind, worker, unique_key, args, detail, session, call, options)
    select id, run_at, created, $5, unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $6,
        unique_key, args, detail, $7, $8, options
    from moved
    returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
        r.kind, r.worker, r.unique_key, r.args, r.detail, r.options;
end $$;
