-- Adds $1 jobs that completed in the last hours.
with recursive past(i, at) as (
    select 1, strftime('%Y-%m-%d %H:%M:%f', 'now')
    union all
    select i + 1, strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || (i / 1000) || ' seconds') from past where i < $1
)
insert into river_job (args, attempt, attempted_at, created_at, finalized_at, kind, max_attempts, scheduled_at, state)
select json_object('n', i), 1, at, at, at, 'noop', 25, at, 'completed' from past;
