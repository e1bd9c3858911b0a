-- Takes due jobs, at most $3 in all and $2[i] of the queue $1[i], for the worker $4 with the lease $5. Rows are looked for
-- behind the cursors ($6, $7), nine for each queue, the highest priority first: what lies before them has been claimed, but
-- for stragglers. Rows that are locked stay where they are, so ctid finds them. The nested loops stop at the limit, so no
-- more rows are locked than are taken. A job that was inserted again while it runs is dropped: it must not stop the queue.
-- One row at least is returned; its last column is when the next job becomes due, if there were fewer than the limit.
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
    from moved m
    where not exists (select from meanwhile.running r where r.id = m.id)
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
) n left join claimed c on true
