-- One lease holds all jobs that a worker process runs: they carry the number of its session, and one row is renewed instead of
-- each of theirs. The session 0 is nobody's: a job of it is one whose lease has run out.
create table meanwhile.sessions (
    session     bigint      not null primary key,
    worker      text        collate "C" not null,
    lease_until timestamptz not null,
    from_call   bigint      not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

lock table meanwhile.running in access exclusive mode;
alter table meanwhile.running add column session bigint not null default 0, add column call bigint not null default 0;

-- What runs now is held as long as before, each worker's by one session.
insert into meanwhile.sessions (session, worker, lease_until)
select row_number() over (order by worker), worker, max(lease_until) from meanwhile.running group by worker;
update meanwhile.running r set session = s.session from meanwhile.sessions s where s.worker = r.worker;

alter table meanwhile.running drop column lease_until;
alter table meanwhile.running alter column session drop default;
drop index meanwhile.running_cancel;
create index running_cancel on meanwhile.running (session) where cancel_requested;

-- Begins the claim $2 of the session $1 of the worker $4, with the lease $5 if the session is not under way, and reports whether it
-- may take jobs: not when a later claim has said that it was not answered, as that does with $3, the first such. The claims of a
-- session go one after the other, so that one which is under way is over, or takes nothing.
create function meanwhile.begin_claim(bigint, bigint, bigint, text, interval) returns boolean
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    alive boolean;
    since bigint;
begin
    perform pg_advisory_xact_lock($1);
    select s.lease_until > now(), s.from_call into alive, since from meanwhile.sessions s where s.session = $1;
    if since > $2 then
        return false;
    end if;
    if alive is not true then
        insert into meanwhile.sessions (session, worker, lease_until) values ($1, $4, now() + $5)
        on conflict (session) do update set lease_until = excluded.lease_until;
    end if;
    if $3 > 0 then
        update meanwhile.sessions set from_call = $2 where session = $1;
    end if;
    return true;
end $$;

-- Takes due jobs, as before, for the claim $10 of the session $9.
drop function meanwhile.claim(text[], int[], int, text, interval, timestamptz[], uuid[], text[]);
create function meanwhile.claim(text[], int[], int, text, interval, timestamptz[], uuid[], text[], bigint, bigint) returns table (
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
                    where q.queue = w.queue collate "C" and q.priority = p::smallint and q.run_at <= now()
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
                where q.queue = w.queue collate "C" and q.priority = p::smallint and q.run_at > now()
                order by q.run_at, q.id
                limit 1
            ) d
        ) end as next
    ) n left join claimed c on true;
end $$;

-- Takes jobs whose lease has run out, at most $3 in all and $2[i] of the queue $1[i], for the claim $8 of the session $7 of the worker
-- $4 with the lease $5, and of the kinds $6; null is all. The last columns are the worker that held the job, and whether it is to
-- be canceled.
create function meanwhile.claim_expired(text[], int[], int, text, interval, text[], bigint, bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, holder text, cancel_requested boolean
) language plpgsql set plan_cache_mode = 'force_custom_plan' as $$
#variable_conflict use_column
begin
    if not meanwhile.begin_claim($7, $8, 0, $4, $5) then
        return;
    end if;
    return query
    with expired as materialized (
        select r.id, r.worker
        from unnest($1, $2) with ordinality w(queue, lim, n) cross join lateral (
            select r.id, r.worker from meanwhile.running r
            where r.queue = w.queue collate "C"
                and not exists (select from meanwhile.sessions s where s.session = r.session and s.lease_until > now())
                and ($6 is null or r.kind = any ($6))
            order by r.priority desc, r.run_at, r.id
            limit w.lim
            for update skip locked
        ) r
        where w.lim > 0 and not exists (select from meanwhile.queues q where q.queue = w.queue collate "C" and q.paused)
        order by w.n
        limit $3
    )
    update meanwhile.running r
    set attempt = r.attempt + 1, died = r.died + 1, started = now(), worker = $4, session = $7, call = $8
    from expired e where r.id = e.id
    returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts,
        r.queue, r.kind, r.worker, r.unique_key, r.args, r.detail, r.options, e.worker, r.cancel_requested;
end $$;

-- Returns the jobs that the session $1 of the worker $4, with the lease $5, holds by its claims from $3 on, for the claim $2. The last
-- column is whether they are to be canceled.
create function meanwhile.claim_again(bigint, bigint, bigint, text, interval) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, cancel_requested boolean
) language plpgsql set plan_cache_mode = 'force_custom_plan' as $$
#variable_conflict use_column
begin
    if not meanwhile.begin_claim($1, $2, $3, $4, $5) then
        return;
    end if;
    return query
    select r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts,
        r.queue, r.kind, r.worker, r.unique_key, r.args, r.detail, r.options, r.cancel_requested
    from meanwhile.running r where r.session = $1 and r.call >= $3;
end $$;

-- As before, for the session $1.
drop function meanwhile.settle_alike(text, uuid[], int, text);
create function meanwhile.settle_alike(bigint, uuid[], int, text) returns setof uuid
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
begin
    return query
    with gone as (
        delete from meanwhile.running r where r.id = any ($2) and r.attempt = $3 and r.session = $1
        returning r.id, r.run_at, r.created, r.started, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
            r.kind, r.worker, r.args, r.options
    ), put as (
        insert into meanwhile.finished (id, run_at, created, started, priority, attempt, spared, died, max_attempts, queue,
            kind, worker, args, options, finished, state)
        select g.*, now(), $4 from gone g
        on conflict (id) do nothing
    ), counted as (
        insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
        select -count(*), count(*) filter (where $4 = 'completed'), count(*) filter (where $4 = 'canceled'),
            count(*) filter (where $4 = 'discarded'), queue, kind
        from gone group by queue, kind
    )
    select i from unnest($2) i
    where (select count(*) from gone) < cardinality($2) and not exists (select from gone g where g.id = i);
end $$;
