-- Adds $1 jobs that completed in the last day.
insert into river_job (args, attempt, attempted_at, created_at, finalized_at, kind, max_attempts, scheduled_at, state)
select jsonb_build_object('n', i), 1, at, at, at, 'noop', 25, at, 'completed'
from generate_series(1, $1::int) as i, lateral (select now() - i * interval '1 ms' as at) as t;
