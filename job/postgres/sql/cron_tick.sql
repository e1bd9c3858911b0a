-- Notes that a worker has the cron $1, and its tick at $3 with the job $5, unless the cron is paused or had that tick already. It returns a row if
-- the tick counts.
with ticked as (
    insert into meanwhile.crons as c (cron, spec, last, next, job, noted)
    values ($1, $2, $3::timestamptz, $4, $5::uuid, now())
    on conflict (cron) do update set
        spec = case when c.paused or c.last >= excluded.last then c.spec else excluded.spec end,
        last = case when c.paused then c.last else greatest(c.last, excluded.last) end,
        next = case when c.paused or c.last >= excluded.last then c.next else excluded.next end,
        job = case when c.paused or c.last >= excluded.last then c.job else excluded.job end,
        noted = now()
    returning job
)
select job from ticked where job = $5
