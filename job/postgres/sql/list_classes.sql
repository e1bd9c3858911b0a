-- The newest jobs that match a filter, at most $4: of those queued if $1, running if $2, finished if $3; with IDs from $5 and below $6, or of the
-- list $7; of the kinds $8, the queues $9 and, if finished, the states $10. Of the queued jobs all are wanted if $11, else the scheduled ones if $12,
-- and those that are retried, which have an index of their own, if $13. $14 is the worker, $15 the unique key, $16 the time before which they
-- finished. $17 are patterns of the args, $18 is one of the detail, $19 are texts that the options have after a brace or a comma. Null is no bound. Finished jobs are searched
-- by queue, kind and state: each combination that counts has is one range of an index. If $4 entries of each would be many, a few of each are read
-- first: they show an ID that none of the newest jobs is below. Queued jobs have no such index. They are not searched if counts has none. If it has
-- few of them compared to all, their IDs are read from the indexes of the queues, which are small beside the table; else the newest of all are likely
-- to contain enough of them. They are few if their index entries cost less to read than the newest jobs until enough of them match, where a row costs
-- as much as two entries. For kinds, whose index has others as well, and if another condition narrows the search, they are few if they are a fiftieth
-- of all.
with total as materialized (
    select queue, kind, sum(unfinished) unfinished, sum(completed) completed, sum(canceled) canceled, sum(discarded) discarded
    from meanwhile.counts
    where ($8::text[] is null or kind = any ($8)) and ($9::text[] is null or queue = any ($9))
    group by queue, kind
), few as materialized (
    select (
            50 * n <= of or $11 and num_nonnulls($7::uuid[], $8::text[], $14::text, $15::text, $17::text[], $18::text, $19::text[]) = 0 and n * n <= 2 * $4::bigint * of
        ) and n > 0 yes, queues
    from (
        select coalesce(sum(unfinished), 0) n, (select sum(unfinished) from meanwhile.counts) of, array_agg(queue) filter (where unfinished > 0) queues
        from total
    ) t
), class as materialized (
    select array_agg(t.queue) queues, array_agg(t.kind) kinds, array_agg(s.state) states
    from total t cross join lateral (
        values ('completed', t.completed), ('canceled', t.canceled), ('discarded', t.discarded)
    ) s(state, n)
    where $3 and s.n > 0 and ($10::text[] is null or s.state = any ($10))
), bound as materialized (
    select f.id
    from class c cross join lateral meanwhile.list_finished(
        c.queues, c.kinds, c.states, coalesce($5::uuid, '00000000-0000-0000-0000-000000000000'),
        coalesce($6::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), (2 * $4 / cardinality(c.queues) + 10)::int, null, null, null, null, null
    ) f(id)
    where cardinality(c.queues) * $4 > 4000 and num_nonnulls($14::text, $16::timestamptz, $17::text[], $18::text, $19::text[]) = 0
    order by f.id desc offset $4 - 1 limit 1
)
(
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, options, false as cancel_requested, null::timestamptz as finished, 'queued' as state
    from meanwhile.queued
    where $1 and exists (select from total where unfinished > 0) and not (select yes from few) and ($11 or $12) and ($5::uuid is null or id >= $5) and ($6::uuid is null or id < $6)
        and ($7::uuid[] is null or id = any ($7))
        and ($8::text[] is null or kind = any ($8)) and ($9::text[] is null or queue = any ($9))
        and ($14::text is null or worker = $14)
        and ($15::text is null or unique_key = $15)
        and ($17::text[] is null or strpos(args, '\') > 0 or args like all ($17))
        and ($18::text is null or lower(detail) like $18)
        and ($19::text[] is null or not exists (select from unnest($19) m where coalesce(strpos(options, '{' || m) + strpos(options, ',' || m), 0) = 0))
        and ($11 or attempt - spared <= 0 and run_at > now())
    order by id desc limit $4
)
union all
(
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, options, false, null::timestamptz, 'queued'
    from meanwhile.queued
    where $1 and (select yes from few) and ($11 or $12) and id = any (array(
            select q.id from (
                select id from meanwhile.queued
                where limit_key is null and queue = any ((select queues from few)::text[]) and ($8::text[] is null or kind = any ($8))
                union all
                select id from meanwhile.queued
                where limit_key > '' and queue = any ((select queues from few)::text[]) and ($8::text[] is null or kind = any ($8))
            ) q
            where ($5::uuid is null or q.id >= $5) and ($6::uuid is null or q.id < $6)
            order by q.id desc
            limit case when $11 and num_nonnulls($7::uuid[], $14::text, $15::text, $17::text[], $18::text, $19::text[]) = 0 then $4 end
        ))
        and ($7::uuid[] is null or id = any ($7))
        and ($14::text is null or worker = $14)
        and ($15::text is null or unique_key = $15)
        and ($17::text[] is null or strpos(args, '\') > 0 or args like all ($17))
        and ($18::text is null or lower(detail) like $18)
        and ($19::text[] is null or not exists (select from unnest($19) m where coalesce(strpos(options, '{' || m) + strpos(options, ',' || m), 0) = 0))
        and ($11 or attempt - spared <= 0 and run_at > now())
    order by id desc limit $4
)
union all
(
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, options, false, null::timestamptz, 'queued'
    from meanwhile.queued
    where $1 and exists (select from total where unfinished > 0) and $13 and not $11 and ($5::uuid is null or id >= $5) and ($6::uuid is null or id < $6)
        and ($7::uuid[] is null or id = any ($7))
        and ($8::text[] is null or kind = any ($8)) and ($9::text[] is null or queue = any ($9))
        and ($14::text is null or worker = $14)
        and ($15::text is null or unique_key = $15)
        and ($17::text[] is null or strpos(args, '\') > 0 or args like all ($17))
        and ($18::text is null or lower(detail) like $18)
        and ($19::text[] is null or not exists (select from unnest($19) m where coalesce(strpos(options, '{' || m) + strpos(options, ',' || m), 0) = 0))
        and attempt - spared > 0
    order by id desc limit $4
)
union all
(
    select id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind, worker,
        unique_key, args, detail, options, cancel_requested, null, 'running'
    from meanwhile.running
    where $2 and ($5::uuid is null or id >= $5) and ($6::uuid is null or id < $6)
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
    where id = any (array(
        select f.id
        from class c cross join lateral meanwhile.list_finished(
            c.queues, c.kinds, c.states, coalesce((select id from bound), $5::uuid, '00000000-0000-0000-0000-000000000000'),
            coalesce($6::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'), $4::int, $14::text, $16::timestamptz, $17::text[],
            $18::text, $19::text[]
        ) f(id)
        order by f.id desc limit $4
    ))
)
order by id desc limit $4
