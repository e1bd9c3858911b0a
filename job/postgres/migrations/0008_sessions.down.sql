drop function meanwhile.claim(text[], int[], int, text, interval, timestamptz[], uuid[], text[], bigint, bigint);
drop function meanwhile.claim_expired(text[], int[], int, text, interval, text[], bigint, bigint);
drop function meanwhile.claim_again(bigint, bigint, bigint, text, interval);
drop function meanwhile.begin_claim(bigint, bigint, bigint, text, interval);
drop function meanwhile.settle_alike(bigint, uuid[], int, text);

alter table meanwhile.running add column lease_until timestamptz not null default now();
update meanwhile.running r set lease_until = s.lease_until from meanwhile.sessions s where s.session = r.session;
alter table meanwhile.running alter column lease_until drop default;
drop index meanwhile.running_cancel;
alter table meanwhile.running drop column session, drop column call;
create index running_cancel on meanwhile.running (worker) where cancel_requested;
drop table meanwhile.sessions;

create function meanwhile.claim(text[], int[], int, text, interval, timestamptz[], uuid[], text[]) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, next interval
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
begin
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
            queue, kind, worker, unique_key, args, detail, lease_until, options)
        select id, run_at, created, now(), unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $4,
            unique_key, args, detail, now() + $5::interval, options
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

create function meanwhile.settle_alike(text, uuid[], int, text) returns setof uuid
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
begin
    return query
    with gone as (
        delete from meanwhile.running r where r.id = any ($2) and r.attempt = $3 and r.worker = $1
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
