drop function meanwhile.lanes_begin(bigint, bigint, text, interval, text, int, bigint, bigint, bigint);
drop function meanwhile.lanes_changed(text, bigint, bigint, bigint);
drop function meanwhile.lanes_heads(text, text[], smallint[], int);
drop function meanwhile.lanes_more(text, text[], smallint[], timestamptz[], uuid[], int[], timestamptz);
drop function meanwhile.lanes_load(text, text, int, int);
drop function meanwhile.lane_plain(text, timestamptz);
drop function meanwhile.lanes_first(text, text[], timestamptz);
drop function meanwhile.lanes_due(text, text[], smallint, timestamptz);
drop function meanwhile.lanes_kept(text, text[], boolean, boolean, boolean);
drop function meanwhile.lanes_hold(text, smallint, uuid[], tid[], timestamptz, text, bigint, bigint);
drop table meanwhile.changes;

delete from meanwhile.touched where key is null;
alter table meanwhile.touched drop column priority, drop column run_at, alter column key set not null, add column queued boolean not null default true;
alter table meanwhile.touched alter column queued drop default;
alter table meanwhile.noted reset (toast_tuple_target);
alter table meanwhile.noted drop column priority, drop column run_at, add column queued boolean not null default true;
alter table meanwhile.noted alter column queued drop default;
alter table meanwhile.queues drop column changed, add column turn bigint not null default 0, add column claims bigint not null default 0;

drop index meanwhile.lanes_idle;
alter table meanwhile.lanes drop column idle, add column priority smallint not null default 0, add column turn bigint not null default 0, add column wake timestamptz,
    add column served int not null default 0;
alter table meanwhile.lanes alter column priority drop default, alter column turn drop default;
create index lanes_open on meanwhile.lanes (queue, priority, turn) where priority > 0;
create index lanes_wake on meanwhile.lanes (queue, wake) where wake is not null;
update meanwhile.lanes set wake = now();
insert into meanwhile.lanes (queue, key, priority, turn, wake)
select distinct queue, limit_key, 0, 0, now() from meanwhile.queued where limit_key is not null
on conflict do nothing;

drop index meanwhile.queued_lane;
create index queued_lane on meanwhile.queued (queue, limit_key, priority, run_at, id) where limit_key is not null;

create or replace function meanwhile.touch() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        insert into meanwhile.touched (queue, key, queued) values (old.queue, old.limit_key, false);
    else
        insert into meanwhile.touched (queue, key, queued) values (new.queue, new.limit_key, true);
    end if;
    return null;
end $$;

create or replace function meanwhile.release() returns trigger language plpgsql as $$
begin
    with gone as (
        delete from meanwhile.holders h
        where h.queue = old.queue and h.key = left(substr(old.options, strpos(old.options, '"limit_key":["') + 12), -1)::jsonb ->> 0 and h.created = old.created and h.id = old.id
        returning h.queue, h.key
    )
    insert into meanwhile.touched (queue, key, queued) select queue, key, true from gone;
    return null;
end $$;

create function meanwhile.forget_most() returns trigger language plpgsql as $$
begin
    new.most := null;
    return new;
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
        returning queue, limit_key
    ), noted as (
        insert into meanwhile.noted (queue, keys, queued)
        select queue, array_agg(limit_key), true
        from (select queue, limit_key, row_number() over () / 500 as part from job where limit_key is not null) j group by queue, part
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
        insert into meanwhile.noted (queue, keys, queued)
        select queue, array_agg(limit_key), false from gone where limit_key is not null group by queue
    )
    select i from unnest($2) i
    where (select count(*) from gone) < cardinality($2) and not exists (select from gone g where g.id = i);
end $$;

create or replace function meanwhile.lanes_begin(bigint, bigint, text, interval, text, int) returns table (
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

create trigger queues_most before update of turn, limits on meanwhile.queues
    for each row when (new.claims = old.claims and new.most is not null) execute function meanwhile.forget_most();

create or replace function meanwhile.lane_due(q text, k text, at timestamptz, out priority int, out next timestamptz, out queued boolean)
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

create or replace function meanwhile.lanes_open(text, int, bigint, bigint, int, boolean, boolean, timestamptz) returns table (
    key text, priority int, turn bigint, free timestamptz, running bigint
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    ordered boolean := coalesce((select q.limits::jsonb #>> '{each_key,in_order}' from meanwhile.queues q where q.queue = $1) = 'true', false);
begin
    return query
    select o.key, p.p, o.turn, o.free, case when $6 and o.key <> '' then (
        select count(*) from meanwhile.running r where r.queue = $1 and r.limit_key is not null and r.limit_key = o.key
    ) else 0 end
    from generate_series($2, 1, -1) p(p) cross join lateral (
        select * from (
            (
                select l.key, l.turn, l.free from meanwhile.lanes l
                where l.queue = $1 and l.priority = p.p::smallint and l.priority > 0 and (p.p < $2 or l.turn > $3 and l.turn <= $4)
                order by l.turn limit $5
            )
            union all
            select a.* from (values (9), (8), (7), (6), (5), (4), (3), (2)) h(h) cross join lateral (
                select l.key, l.turn, l.free from meanwhile.lanes l
                where $7 and h.h > p.p and (l.key = '' or not ordered) and l.queue = $1 and l.priority = h.h::smallint and l.priority > 0
                    and (p.p < $2 or l.turn > $3 and l.turn <= $4)
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
                order by l.turn limit $5
            ) a
        ) u order by u.turn limit $5
    ) o
    limit $5;
end $$;

create or replace function meanwhile.lanes_put(text, text[], smallint[], bigint[], timestamptz[], timestamptz[], boolean[], timestamptz[], int[]) returns void
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
