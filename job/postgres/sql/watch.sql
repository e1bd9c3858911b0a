-- Watches the job $1 until $2 from now, unless it has finished. If the job exists it returns a row, with the running attempt, and the last tree that
-- was reported during this watch, with its attempt and time.
with unfinished as (
    select attempt from meanwhile.running where id = $1
    union all
    select null from meanwhile.queued where id = $1
), watched as (
    insert into meanwhile.watches as w (job, until) select $1, now() + $2::interval from unfinished limit 1
    on conflict (job) do update set
        until = greatest(w.until, excluded.until),
        attempt = case when w.until > now() then w.attempt end,
        at = case when w.until > now() then w.at end,
        tree = case when w.until > now() then w.tree end
    returning attempt, at, tree
)
select u.attempt, w.attempt, w.at, w.tree from unfinished u left join watched w on true
union all
select null, null, null, null from meanwhile.finished where id = $1
