-- Adds bench.jobs finished jobs (a setting of the connection), one per millisecond up to now.
insert into meanwhile.finished (
    id, run_at, created, started, priority, attempt, spared, died, max_attempts, queue, kind, worker, args, finished, state
)
select
    (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7000a000' || lpad(to_hex(i), 12, '0'))::uuid,
    at, at, at, 5, 1, 0, 0, 20, 'queue' || i % 10, 'kind' || i % 50, 'worker', '{"n":' || i || '}', at,
    case when i / 50 % 20 = 0 then 'discarded' else 'completed' end
from
    generate_series(1, current_setting('bench.jobs')::int) as i,
    lateral (select now() - (current_setting('bench.jobs')::int - i) * interval '1 ms' as at) as t;

insert into meanwhile.counts (queue, kind, completed, discarded)
select queue, kind, count(*) filter (where state = 'completed'), count(*) filter (where state = 'discarded')
from meanwhile.finished
group by queue, kind;
