-- Adds bench.jobs finished jobs (a setting of the connection), one per millisecond up to now. It drops two indexes, which the
-- benchmarks do not use and which would take most of the time.
drop index river_job_args_index, river_job_metadata_index;

insert into river_job (
    args, attempt, attempted_at, created_at, finalized_at, kind, max_attempts, queue, scheduled_at, state
)
select
    jsonb_build_object('n', i), 1, at, at, at, 'kind' || i % 50, 25, 'queue' || i % 10, at,
    (case when i / 50 % 20 = 0 then 'discarded' else 'completed' end)::river_job_state
from
    generate_series(1, current_setting('bench.jobs')::int) as i,
    lateral (select now() - (current_setting('bench.jobs')::int - i) * interval '1 ms' as at) as t;
