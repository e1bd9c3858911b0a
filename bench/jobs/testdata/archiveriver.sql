-- Adds as many finished jobs as the setting bench.jobs says: one each millisecond until now. The two indexes would take
-- most of the time, and are not used by what is measured.
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
