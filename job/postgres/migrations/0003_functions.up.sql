-- The statements that run for every few jobs, as functions: a connection plans them once instead of each time, which took
-- about a fifth of their time, also behind a pooler, where nothing can be prepared. A plan that is kept must do for all
-- sizes that the tables ever have, also if it was made while they were empty: so there is but one index that each look at a
-- large table can take.

-- Takes due jobs, at most $3 in all and $2[i] of the queue $1[i], for the worker $4 with the lease $5. Rows are looked for
-- behind the cursors ($6, $7), nine for each queue, the highest priority first: what lies before them has been claimed, but
-- for stragglers. Rows that are locked stay where they are, so ctid finds them. The nested loops stop at the limit, so no
-- more rows are locked than are taken. A job that was inserted again while it runs is dropped: it must not stop the queue.
-- One row at least is returned; its last column is when the next job becomes due, if there were fewer than the limit.
create function meanwhile.claim(text[], int[], int, text, interval, timestamptz[], uuid[]) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, next interval
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
        insert into meanwhile.running
        select id, run_at, created, now(), unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $4,
            unique_key, args, detail, now() + $5::interval
        from moved
        on conflict (id) do nothing
        returning *
    )
    select c.id, c.run_at, c.created, c.started, c.unique_for, c.priority, c.attempt, c.spared, c.died, c.max_attempts,
        c.queue, c.kind, c.worker, c.unique_key, c.args, c.detail, n.next
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

-- Finishes the jobs $2 that the worker $1 holds with the attempt $3, in the state $4, and returns those that it does not
-- hold. They have neither a unique key nor a detail.
create function meanwhile.settle_alike(text, uuid[], int, text) returns setof uuid
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
begin
    return query
    with gone as (
        delete from meanwhile.running r where r.id = any ($2) and r.attempt = $3 and r.worker = $1
        returning r.id, r.run_at, r.created, r.started, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
            r.kind, r.worker, r.args
    ), put as (
        insert into meanwhile.finished (id, run_at, created, started, priority, attempt, spared, died, max_attempts, queue,
            kind, worker, args, finished, state)
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

-- Inserts jobs $1 with the args $2 that are alike in all else, have no key and are due at once: queue $3, kind $4, priority
-- $5, attempts $6.
create function meanwhile.insert_alike(uuid[], text[], text, text, smallint, int) returns void
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
begin
    with job as (
        insert into meanwhile.queued (id, queue, run_at, priority, max_attempts, kind, args)
        select id, $3, now(), $5, $6, $4, args from unnest($1::uuid[], $2::text[]) j(id, args)
    )
    insert into meanwhile.counts (unfinished, queue, kind) values (cardinality($1::uuid[]), $3, $4);
end $$;
