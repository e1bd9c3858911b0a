-- Writes finished jobs, with the states $20; they finished at $19, or now. $2 and $17 are as for queued ones.
insert into meanwhile.finished (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts, queue, kind,
    worker, unique_key, args, detail, finished, state, options)
select id, coalesce(run_at, now() + delay, now()), created, started, unique_for, priority, attempt, spared, died,
    max_attempts, queue, kind, worker, unique_key, args, detail, coalesce(finished, now()), state, options
from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::interval[], $6::smallint[],
        $7::int[], $8::int[], $9::int[], $10::int[], $11::text[], $12::text[],
        $13::text[], $14::text[], $15::text[], $16::text[],
        $17::interval[], $18::text[], $19::timestamptz[], $20::text[])
    j(id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
        queue, kind, worker, unique_key, args, detail, delay, options, finished, state)
