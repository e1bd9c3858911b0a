-- The newest jobs that match a filter, at most $4: of those queued if $1, running if $2, finished if $3; with IDs from $5 and
-- below $6, or of the list $7; of the kinds $8, the queues $9 and, if finished, the states $10. Of those queued all are
-- wanted if $11, else those that are scheduled if $12, and that are retried if $13. $14 is the worker, $15 the unique
-- key, $16 the time before which they finished. $17 are patterns of the args, $18 is one of the detail, $19
-- are texts that the options have after a brace or a comma. Null is no bound.
(
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, options, false as cancel_requested, null::timestamptz as finished, 'queued' as state
    from meanwhile.queued
    where $1
        and ($5::uuid is null or id >= $5) and ($6::uuid is null or id < $6)
        and ($7::uuid[] is null or id = any ($7))
        and ($8::text[] is null or kind = any ($8)) and ($9::text[] is null or queue = any ($9))
        and ($14::text is null or worker = $14)
        and ($15::text is null or unique_key = $15)
        and ($17::text[] is null or strpos(args, '\') > 0 or args like all ($17))
        and ($18::text is null or lower(detail) like $18)
        and ($19::text[] is null or not exists (select from unnest($19) m where coalesce(strpos(options, '{' || m) + strpos(options, ',' || m), 0) = 0))
        and ($11 or $12 and attempt - spared <= 0 and run_at > now() or $13 and attempt - spared > 0)
    order by id desc limit $4
)
union all
(
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, options, cancel_requested, null, 'running'
    from meanwhile.running
    where $2
        and ($5::uuid is null or id >= $5) and ($6::uuid is null or id < $6)
        and ($7::uuid[] is null or id = any ($7))
        and ($8::text[] is null or kind = any ($8)) and ($9::text[] is null or queue = any ($9))
        and ($14::text is null or worker = $14)
        and ($15::text is null or unique_key = $15)
        and ($17::text[] is null or strpos(args, '\') > 0 or args like all ($17))
        and ($18::text is null or lower(detail) like $18)
        and ($19::text[] is null or not exists (select from unnest($19) m where coalesce(strpos(options, '{' || m) + strpos(options, ',' || m), 0) = 0))
    order by id desc limit $4
)
union all
(
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, options, false, finished, state
    from meanwhile.finished
    where $3 and ($5::uuid is null or id >= $5) and ($6::uuid is null or id < $6)
        and ($7::uuid[] is null or id = any ($7))
        and ($8::text[] is null or kind = any ($8)) and ($9::text[] is null or queue = any ($9))
        and ($14::text is null or worker = $14)
        and ($15::text is null or unique_key = $15)
        and ($17::text[] is null or strpos(args, '\') > 0 or args like all ($17))
        and ($18::text is null or lower(detail) like $18)
        and ($19::text[] is null or not exists (select from unnest($19) m where coalesce(strpos(options, '{' || m) + strpos(options, ',' || m), 0) = 0))
        and ($10::text[] is null or state = any ($10)) and ($16::timestamptz is null or finished < $16)
    order by id desc limit $4
)
order by id desc limit $4
