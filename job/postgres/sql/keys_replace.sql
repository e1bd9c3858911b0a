-- Replaces the args of the queued job $1 by $2. It is due at $3, or after the delay $4, or immediately; with $5 at most that long after its creation,
-- and no earlier than its next attempt, if it has had one.
update meanwhile.queued
set args = $2, run_at = greatest(
    least(coalesce($3::timestamptz, now() + $4::interval, now()), case when $5::interval is not null then greatest(created + $5::interval, now()) end),
    case when $5::interval is not null and attempt > 0 then run_at end
)
where id = $1::uuid returning id
