-- Extends the lease of the session $14 of the worker $1 to $3 from now, gives up its jobs $15, and stores its report $4; its stats: of the minutes
-- $5, queues $7 and kinds $8, since it began at $6, with the totals $9 and the rows $10; and the trees $13 of the jobs $11 in the attempts $12. It
-- returns those of the jobs $2 that are lost (0) or to be canceled (1), up to $16 watched jobs (2), the commands not older than $17 (3), and the time
-- (4).
with renewed as (
    insert into meanwhile.sessions (session, worker, lease_until) values ($14, $1, now() + $3::interval)
    on conflict (session) do update set lease_until = excluded.lease_until
), held as materialized (
    select id from meanwhile.running where id = any ($15::uuid[]) and session = $14 for update skip locked
), dropped as (
    update meanwhile.running r set session = 0 from held h where r.id = h.id
), seen as (
    insert into meanwhile.workers (worker, info, seen) values ($1, $4, now())
    on conflict (worker) do update set info = excluded.info, seen = excluded.seen
), counted as (
    insert into meanwhile.stats as s (minute, worker, run, queue, kind, total, stat)
    select minute, $1::text, $6::timestamptz, queue, kind, total, stat
    from unnest($5::timestamptz[], $7::text[], $8::text[], $9::bigint[], $10::text[]) c(minute, queue, kind, total, stat)
    on conflict (minute, worker, run, queue, kind) do update set total = excluded.total, stat = excluded.stat
    where excluded.total >= s.total
), shown as (
    update meanwhile.watches w set attempt = t.attempt, at = now(), tree = t.tree
    from unnest($11::uuid[], $12::int[], $13::text[]) t(job, attempt, tree)
        join meanwhile.running r on r.id = t.job and r.attempt = t.attempt and r.session = $14
    where w.job = t.job and w.until > now()
), fetched as (
    delete from meanwhile.orders where worker = $1 returning seq, made, word
)
select 0, j.id, null::bigint, null::text, null::timestamptz
from unnest($2::uuid[]) j(id) left join meanwhile.running r on r.id = j.id and r.session = $14
where r.id is null
union all
select 1, id, null, null, null from meanwhile.running where session = $14 and cancel_requested
union all
(
    select 2, id, null, null, null from meanwhile.running
    where id = any (array(select job from meanwhile.watches where until > now())) and session = $14
    order by id limit $16
)
union all
select 3, null, seq, word, null from fetched where made > now() - $17::interval
union all
select 4, null, null, null, now()
order by 1, 3
