-- The schema of the first release. Development versions before it had 31 migrations in its place.
--
-- A job is a row of one of three tables, whose first sixteen columns are the same: queued until it is claimed, running until it is settled, finished
-- until it is pruned. The first two stay small and churn, so vacuum visits them often. Options is what was set for one job when it was enqueued, as
-- JSON: its timeout, its meta, its cost and its limit key. Who queues a job also writes the limit key to its column.

create table meanwhile.queued (
    id           uuid        not null primary key,
    run_at       timestamptz not null,
    created      timestamptz not null default now(),
    started      timestamptz,
    unique_for   interval,
    priority     smallint    not null,
    attempt      integer     not null default 0,
    spared       integer     not null default 0,
    died         integer     not null default 0,
    max_attempts integer     not null,
    queue        text        collate "C" not null,
    kind         text        collate "C" not null,
    worker       text        collate "C",
    unique_key   text        collate "C",
    args         text        collate "C" not null,
    detail       text        collate "C",
    options      text        collate "C",
    limit_key    text        collate "C"
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 10000
);

-- The order of claims of jobs without a limit key. It has the kinds, so that jobs of a rare kind are found without the rows of the others.
create index queued_due on meanwhile.queued (queue, priority, run_at, id) include (kind) where limit_key is null;
-- The order of each lane: the queued jobs of a queue that have the same limit key.
create index queued_lane on meanwhile.queued (queue, limit_key, priority desc, run_at, id) where limit_key is not null;
-- Lanes whose jobs run in the order of their creation. The conditions of this index and the next one differ, so that no other query can use them.
create index queued_in_order on meanwhile.queued (queue, limit_key, created, id) where limit_key <> '';
-- The oldest job with any limit key, and the kinds of these jobs.
create index queued_keyed on meanwhile.queued (queue, run_at) include (id, kind) where limit_key > '';
-- For lists of the queued jobs that have failed before, which are few.
create index queued_failed on meanwhile.queued (id) where attempt - spared > 0;
-- Queued jobs by unique key, also where another job has taken the key over, so that unique_keys no longer names them. Running jobs are few enough to be
-- read, and are written more often.
create index queued_unique on meanwhile.queued (unique_key, id) where unique_key is not null;

create table meanwhile.running (
    id           uuid        not null primary key,
    run_at       timestamptz not null,
    created      timestamptz not null,
    started      timestamptz not null,
    unique_for   interval,
    priority     smallint    not null,
    attempt      integer     not null,
    spared       integer     not null,
    died         integer     not null,
    max_attempts integer     not null,
    queue        text        collate "C" not null,
    kind         text        collate "C" not null,
    worker       text        collate "C" not null,
    unique_key   text        collate "C",
    args         text        collate "C" not null,
    detail       text        collate "C",
    cancel_requested boolean not null default false,
    options      text        collate "C",
    session      bigint      not null,
    call         bigint      not null default 0,
    limit_key    text        collate "C"
) with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 10000
);

create index running_cancel on meanwhile.running (session) where cancel_requested;
create index running_lane on meanwhile.running (queue, limit_key) where limit_key is not null;

create table meanwhile.finished (
    id           uuid        not null primary key,
    run_at       timestamptz not null,
    created      timestamptz not null,
    started      timestamptz,
    unique_for   interval,
    priority     smallint    not null,
    attempt      integer     not null,
    spared       integer     not null,
    died         integer     not null,
    max_attempts integer     not null,
    queue        text        collate "C" not null,
    kind         text        collate "C" not null,
    worker       text        collate "C",
    unique_key   text        collate "C",
    args         text        collate "C" not null,
    detail       text        collate "C",
    finished     timestamptz not null,
    state        text        collate "C" not null,
    options      text        collate "C"
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02
);

-- For lists by queue, kind and state, newest first: those of their combinations, which counts names, are merged. Nearly all finished jobs have
-- completed, so these get the smaller index.
create index finished_class on meanwhile.finished (queue, kind, id) where state = 'completed';
create index finished_failed on meanwhile.finished (queue, kind, state, id) where state <> 'completed';
-- For pruning. An index on one column costs a third of one on state and time.
create index finished_completed on meanwhile.finished (finished) where state = 'completed';
create index finished_canceled on meanwhile.finished (finished) where state = 'canceled';
create index finished_discarded on meanwhile.finished (finished) where state = 'discarded';
create index finished_key on meanwhile.finished (unique_key, id) where unique_key is not null;

-- Jobs by the ID that another system knows them by, which few have: what follows the key jid in the options, up to the next quotation mark. Escaped
-- quotation marks are left out before, so no text can have a key in it. The options are not read as JSON, since they may have what json refuses. If two
-- IDs have their first 200 characters in common, or differ only in what is left out, the index finds both.
create index queued_meta_id on meanwhile.queued (left(split_part(split_part(replace(options, '\"', ''), '"jid":"', 2), '"', 1), 200))
where strpos(options, '"jid":"') > 0;
create index running_meta_id on meanwhile.running (left(split_part(split_part(replace(options, '\"', ''), '"jid":"', 2), '"', 1), 200))
where strpos(options, '"jid":"') > 0;
create index finished_meta_id on meanwhile.finished (left(split_part(split_part(replace(options, '\"', ''), '"jid":"', 2), '"', 1), 200))
where strpos(options, '"jid":"') > 0;

-- Who holds a unique key: an unfinished job while free_at is null, then a finished one until free_at.
create table meanwhile.unique_keys (
    key     text        collate "C" not null primary key,
    id      uuid        not null,
    free_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create index keys_free on meanwhile.unique_keys (free_at) where free_at is not null;

-- The sums by queue and kind are the numbers of jobs. Each writer appends what it changed, so that none waits for another; from time to time the rows
-- are added up.
create table meanwhile.counts (
    unfinished bigint not null default 0,
    completed  bigint not null default 0,
    canceled   bigint not null default 0,
    discarded  bigint not null default 0,
    queue      text   collate "C" not null,
    kind       text   collate "C" not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- One lease holds all jobs that a worker process runs: they have the number of its session, so that one row is renewed instead of each of theirs.
-- Session 0 belongs to nobody: the lease of its jobs is over. From_call is the first call of the session that counts, see begin_claim.
create table meanwhile.sessions (
    session     bigint      not null primary key,
    worker      text        collate "C" not null,
    lease_until timestamptz not null,
    from_call   bigint      not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- The queues that were ever paused, have limits, or have lanes. Free is the state of the rate of starts, paid that of the rate of units; until held, no
-- job starts, since an upstream was overloaded. Overrides is how many keys have limits of their own. Most is an upper bound of how many jobs run, null
-- if it is not known: while it and what is claimed are within the limit, nothing is counted. Changed is the number of the last row of changes. Whoever
-- claims from a queue with lanes has its row locked.
create table meanwhile.queues (
    queue     text        collate "C" not null primary key,
    paused    boolean     not null,
    limits    text,
    free      timestamptz,
    held      timestamptz,
    paid      timestamptz,
    overrides integer     not null default 0,
    most      bigint,
    changed   bigint      not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Limits of single keys.
create table meanwhile.overrides (
    queue  text collate "C" not null,
    key    text collate "C" not null,
    limits text not null,
    primary key (queue, key)
);

-- Each process that claims keeps lanes in memory. The database has the jobs that they consist of, the state of their rates and throttling (in lanes),
-- and what has changed (in touched, noted and changes). From idle on, a row of lanes no longer matters.
create table meanwhile.lanes (
    queue text        collate "C" not null,
    key   text        collate "C" not null,
    free  timestamptz,
    held  timestamptz,
    paid  timestamptz,
    idle  timestamptz not null,
    primary key (queue, key)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create index lanes_idle on meanwhile.lanes (queue, idle);

-- Lanes that have changed, as written by whoever changed them: touched has a row for each job or lane, noted the lanes of a whole call. The next claim
-- moves them to changes and gives them numbers, by which all processes that claim read them. The key, or the keys, are null if any lane of the queue
-- may have changed in more than its jobs. Priority and run_at are those of new jobs, the highest and the earliest; the priority is 0 if jobs have
-- ended, and negative if a claim reports turns; otherwise null. Tag is a random number of the claim.
create table meanwhile.touched (
    queue    text     collate "C" not null,
    key      text     collate "C",
    priority smallint,
    run_at   timestamptz
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create index touched_queue on meanwhile.touched (queue);

create table meanwhile.noted (
    queue    text     collate "C" not null,
    keys     text[]   collate "C" not null,
    priority smallint,
    run_at   timestamptz
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, toast_tuple_target = 8160);

create index noted_queue on meanwhile.noted (queue);

create table meanwhile.changes (
    queue    text     collate "C" not null,
    n        bigint   not null,
    tag      bigint   not null,
    keys     text[]   collate "C",
    priority smallint,
    run_at   timestamptz,
    primary key (queue, n)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, toast_tuple_target = 8160);

-- The discarded jobs that hold back the jobs behind them in their lanes, if the limits of the queue say so.
create table meanwhile.holders (
    queue   text        collate "C" not null,
    key     text        collate "C" not null,
    created timestamptz not null,
    id      uuid        not null,
    primary key (queue, key, created, id)
);

create table meanwhile.workers (
    worker text        collate "C" not null primary key,
    info   text        not null,
    seen   timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

create table meanwhile.crons (
    cron   text        collate "C" not null primary key,
    spec   text        not null,
    last   timestamptz not null,
    next   timestamptz not null,
    paused boolean     not null default false,
    job    uuid,
    noted  timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- Jobs that somebody watches, with the tree that their worker sent last. This table and the next one hold nothing that matters after a minute, so they
-- need not survive a crash.
create unlogged table meanwhile.watches (
    job     uuid        not null primary key,
    until   timestamptz not null,
    attempt integer,
    at      timestamptz,
    tree    text        collate "C"
) with (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 1000
);
alter table meanwhile.watches alter column tree set storage external;

-- Commands for workers, until they receive them.
create unlogged table meanwhile.orders (
    seq    bigint      generated always as identity primary key,
    worker text        collate "C" not null,
    made   timestamptz not null default now(),
    word   text        not null
);

create index orders_worker on meanwhile.orders (worker);

-- What a worker, which has counted since run, did in a minute.
create table meanwhile.stats (
    minute timestamptz not null,
    worker text        collate "C" not null,
    run    timestamptz not null,
    queue  text        collate "C" not null,
    kind   text        collate "C" not null,
    total  bigint      not null,
    stat   text        collate "C" not null,
    primary key (minute, worker, run, queue, kind)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- What all workers did in a longer time, see job.MergeStats.
create table meanwhile.past (
    began timestamptz not null,
    queue text        collate "C" not null,
    kind  text        collate "C" not null,
    stat  text        collate "C" not null,
    primary key (began, queue, kind)
);

-- What operators did.
create table meanwhile.audit (
    n     bigint      generated always as identity primary key,
    at    timestamptz not null,
    entry text        collate "C" not null
);

-- The statements that run for every few jobs are functions: a connection then plans them once, which took a fifth of their time, and also behind a
-- pooler, where nothing can be prepared. A kept plan has to suit each size that the tables will ever have, even if it was made while they were empty.
-- So each search in a large table has one index that it can use, and other ways are switched off.

-- Fails if one of these jobs, sorted by ID, is running or has finished. An insert calls it after it has queued them: a transaction that moves one of
-- them from the queued jobs to another table has then committed, and the queries here see it. If no job is between the first and the last of the IDs,
-- which are mostly new, there is no need to look for each.
create function meanwhile.refuse_stored(uuid[]) returns void
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    stored uuid;
begin
    if exists (select from meanwhile.running r where r.id between ($1)[1] and ($1)[cardinality($1)])
        or exists (select from meanwhile.finished f where f.id between ($1)[1] and ($1)[cardinality($1)])
    then
        stored := (
            select i from unnest($1) i
            where exists (select from meanwhile.running r where r.id = i) or exists (select from meanwhile.finished f where f.id = i)
            limit 1
        );
        if stored is not null then
            raise unique_violation using message = format('job %s is running or has finished', stored);
        end if;
    end if;
end $$;

-- Inserts the jobs $1, sorted by ID, with the args $2. They have no keys, are due immediately, and have the queue $3, the kind $4, the priority $5 and
-- the attempts $6. The check begins here: for a single job, half of the cost of refuse_stored is its call.
create function meanwhile.insert_alike(uuid[], text[], text, text, smallint, int) returns void
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
begin
    with job as (
        insert into meanwhile.queued (id, queue, run_at, priority, max_attempts, kind, args)
        select id, $3, now(), $5, $6, $4, args from unnest($1::uuid[], $2::text[]) j(id, args)
    )
    insert into meanwhile.counts (unfinished, queue, kind) values (cardinality($1::uuid[]), $3, $4);
    if exists (select from meanwhile.running r where r.id between ($1)[1] and ($1)[cardinality($1)])
        or exists (select from meanwhile.finished f where f.id between ($1)[1] and ($1)[cardinality($1)])
    then
        perform meanwhile.refuse_stored($1);
    end if;
end $$;

-- Does the same as insert.sql, for many jobs of which some have limit keys: it notes their lanes.
create function meanwhile.insert_noted(uuid[], text[], timestamptz[], interval[], smallint[], int[], text[], text[], text[], interval[], text[], text[],
    bigint[], bigint[], bigint[], bigint[], text[], text[]) returns void
language plpgsql set meanwhile_jobs.lanes = 'noted' as $$
#variable_conflict use_column
begin
    with job as (
        insert into meanwhile.queued (id, queue, run_at, priority, max_attempts, kind, args, unique_key, unique_for, options, limit_key)
        select id, queue, coalesce(run_at, now() + delay, now()), priority, max_attempts, kind, args, key, hold, options, limit_key
        from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
            j(id, queue, run_at, delay, priority, max_attempts, kind, args, key, hold, options, limit_key)
        returning queue, limit_key, priority, run_at
    ), noted as (
        insert into meanwhile.noted (queue, keys, priority, run_at)
        select queue, array_agg(distinct limit_key), max(priority), min(run_at)
        from (select queue, limit_key, priority, run_at, row_number() over () / 500 as part from job where limit_key is not null) j group by queue, part
    )
    insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
    select * from unnest($13, $14, $15, $16, $17, $18);
    perform meanwhile.refuse_stored(array(select i from unnest($1) i order by i));
end $$;

-- Notes the lane of a job for all statements that do not note lanes themselves. Those that do set meanwhile_jobs.lanes.
create function meanwhile.touch() returns trigger language plpgsql as $$
begin
    case tg_op
    when 'DELETE' then
        insert into meanwhile.touched (queue, key, priority) values (old.queue, old.limit_key, 0);
    when 'INSERT' then
        insert into meanwhile.touched (queue, key, priority, run_at) values (new.queue, new.limit_key, new.priority, new.run_at);
    else
        insert into meanwhile.touched (queue, key) values (new.queue, new.limit_key);
    end case;
    return null;
end $$;

create trigger queued_touch after insert or update of queue, priority, run_at on meanwhile.queued for each row
    when (new.limit_key is not null and current_setting('meanwhile_jobs.lanes', true) is distinct from 'noted') execute function meanwhile.touch();
create trigger running_touch after delete on meanwhile.running for each row
    when (old.limit_key is not null and current_setting('meanwhile_jobs.lanes', true) is distinct from 'noted') execute function meanwhile.touch();

-- Makes a discarded job hold back its lane.
create function meanwhile.hold() returns trigger language plpgsql as $$
begin
    insert into meanwhile.holders (queue, key, created, id)
    select new.queue, left(substr(new.options, strpos(new.options, '"limit_key":["') + 12), -1)::jsonb ->> 0, new.created, new.id
    from meanwhile.queues q where q.queue = new.queue and q.limits::jsonb #>> '{each_key,hold_on_discard}' = 'true'
    on conflict do nothing;
    return null;
end $$;

create trigger finished_hold after insert on meanwhile.finished
    for each row when (new.state = 'discarded' and strpos(new.options, '"limit_key":["') > 0) execute function meanwhile.hold();

-- Releases the lane of a discarded job that is retried or deleted: the next claim reads it again.
create function meanwhile.release() returns trigger language plpgsql as $$
begin
    with gone as (
        delete from meanwhile.holders h
        where h.queue = old.queue and h.key = left(substr(old.options, strpos(old.options, '"limit_key":["') + 12), -1)::jsonb ->> 0
            and h.created = old.created and h.id = old.id
        returning h.queue, h.key
    )
    insert into meanwhile.touched (queue, key) select queue, key from gone;
    return null;
end $$;

create trigger finished_release after delete on meanwhile.finished
    for each row when (old.state = 'discarded' and strpos(old.options, '"limit_key":["') > 0) execute function meanwhile.release();

-- Begins the claim $2 of the session $1 of the worker $4, with the lease $5 unless the session has one. It reports whether the claim may take jobs: not
-- if a later claim has said that it got no answer to this one. A claim says so with $3, the first one without an answer; it then also sets the lease
-- anew, since its worker does not know when the others began it. The claims of a session run one after the other, so an earlier one has ended, or takes
-- nothing.
create function meanwhile.begin_claim(bigint, bigint, bigint, text, interval) returns boolean
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    alive boolean;
    since bigint;
begin
    perform pg_advisory_xact_lock($1);
    select s.lease_until > now(), s.from_call into alive, since from meanwhile.sessions s where s.session = $1;
    if since > $2 then
        return false;
    end if;
    if alive is not true or $3 > 0 then
        insert into meanwhile.sessions (session, worker, lease_until) values ($1, $4, now() + $5)
        on conflict (session) do update set lease_until = excluded.lease_until;
    end if;
    if $3 > 0 then
        update meanwhile.sessions set from_call = $2 where session = $1;
    end if;
    return true;
end $$;

-- Returns the jobs that the session $1 of the worker $4, with the lease $5, holds by its claims from $3 on, for the claim $2. The last column is whether
-- they are to be canceled.
create function meanwhile.claim_again(bigint, bigint, bigint, text, interval) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, cancel_requested boolean
) language plpgsql set plan_cache_mode = 'force_custom_plan' as $$
#variable_conflict use_column
begin
    if not meanwhile.begin_claim($1, $2, $3, $4, $5) then
        return;
    end if;
    return query
    select r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts,
        r.queue, r.kind, r.worker, r.unique_key, r.args, r.detail, r.options, r.cancel_requested
    from meanwhile.running r where r.session = $1 and r.call >= $3;
end $$;

-- Takes jobs whose lease is over, at most $3 in all and $2[i] of the queue $1[i], for the claim $8 of the session $7 of the worker $4 with the lease $5.
-- They have one of the kinds $6; null is any. The last columns are the worker that held the job, and whether it is to be canceled.
create function meanwhile.claim_expired(text[], int[], int, text, interval, text[], bigint, bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, holder text, cancel_requested boolean
) language plpgsql set plan_cache_mode = 'force_custom_plan' as $$
#variable_conflict use_column
begin
    if not meanwhile.begin_claim($7, $8, 0, $4, $5) then
        return;
    end if;
    return query
    with expired as materialized (
        select r.id, r.worker
        from unnest($1, $2) with ordinality w(queue, lim, n) cross join lateral (
            select r.id, r.worker from meanwhile.running r
            where r.queue = w.queue collate "C"
                and not exists (select from meanwhile.sessions s where s.session = r.session and s.lease_until > now())
                and ($6 is null or r.kind = any ($6))
            order by r.priority desc, r.run_at, r.id
            limit w.lim
            for update skip locked
        ) r
        where w.lim > 0 and not exists (select from meanwhile.queues q where q.queue = w.queue collate "C" and q.paused)
        order by w.n
        limit $3
    )
    update meanwhile.running r
    set attempt = r.attempt + 1, died = r.died + 1, started = now(), worker = $4, session = $7, call = $8
    from expired e where r.id = e.id
    returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts,
        r.queue, r.kind, r.worker, r.unique_key, r.args, r.detail, r.options, e.worker, r.cancel_requested;
end $$;

-- Takes due jobs without a limit key, at most $3 in all and $2[i] of the queue $1[i], for the claim $10 of the session $9 of the worker $4 with the lease
-- $5. They have one of the kinds $8; null is any, and jobs of others are passed over. It searches behind the cursors ($6, $7), nine for each queue, the
-- highest priority first: jobs before them have been claimed, except for late ones. It looks at the first job of each priority once, and takes jobs
-- where some are due. Rows that are locked stay where they are, so ctid finds them. The nested loops stop at the limit, so no more rows are locked than
-- are taken.
--
-- If one of the queues has limits, or queued jobs with limit keys, it takes nothing, and returns rows with nothing but the names of these queues; nobody
-- sets limits in the meantime, see limits_lock.sql. Otherwise it returns at least one row, whose last column is when the next job becomes due, if there
-- were fewer than the limit.
--
-- It fails if a job with the same ID is running already, see claim_stored.sql: to prevent that by "on conflict do nothing" would cost a second WAL
-- record for each row.
create function meanwhile.claim_strict(text[], int[], int, text, interval, timestamptz[], uuid[], text[], bigint, bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, next interval
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    free int[] := $2;
    room int := $3;
    first record; -- of a queue and a priority
    taken int;
    due timestamptz;
    wake timestamptz;
begin
    perform pg_advisory_xact_lock($9), pg_advisory_xact_lock_shared(hashtextextended('limits of meanwhile.queues', 0));
    if (select s.lease_until > now() and s.from_call <= $10 from meanwhile.sessions s where s.session = $9) is not true then
        if not meanwhile.begin_claim($9, $10, 0, $4, $5) then
            return;
        end if;
    end if;
    if exists (select from meanwhile.queues q where q.queue = any ($1) and (q.paused or q.limits is not null or q.held > now()))
        or exists (select from meanwhile.queued q where q.queue = any ($1) and q.limit_key is not null)
    then
        return query
        select null::uuid, null::timestamptz, null::timestamptz, null::timestamptz, null::interval, null::smallint, null::int, null::int,
            null::int, null::int, w.queue, null::text, null::text, null::text, null::text, null::text, null::text, null::interval
        from unnest($1, $2) w(queue, free)
        where w.free > 0 and (
            exists (select from meanwhile.queues q where q.queue = w.queue collate "C" and (q.limits is not null or q.held > now()))
            or exists (select from meanwhile.queued q where q.queue = w.queue collate "C" and q.limit_key is not null)
        );
        if found then
            return;
        end if;
        free := array(
            select case when exists (select from meanwhile.queues q where q.queue = w.queue collate "C" and q.paused) then 0 else w.free end
            from unnest($1, $2) with ordinality w(queue, free, n) order by n
        );
    end if;
    for first in
        select (a.n + 8) / 9 as of, (9 - (a.n - 1) % 9)::smallint as priority, a.run_at as after, a.id as after_id, j.run_at
        from unnest($6, $7) with ordinality a(run_at, id, n) cross join lateral (
            select q.run_at from meanwhile.queued q
            where q.queue = ($1)[(a.n + 8) / 9] collate "C" and q.priority = (9 - (a.n - 1) % 9)::smallint and q.limit_key is null
                and (q.run_at, q.id) > (a.run_at, a.id)
            order by q.run_at, q.id
            limit 1
        ) j
        where free[(a.n + 8) / 9] > 0
    loop
        due := first.run_at;
        if due <= now() then
            if free[first.of] > 0 then
                return query
                with moved as (
                    delete from meanwhile.queued where ctid = any (array(
                        select q.ctid from meanwhile.queued q
                        where q.queue = ($1)[first.of] collate "C" and q.priority = first.priority and q.run_at <= now() and q.limit_key is null
                            and (q.run_at, q.id) > (first.after, first.after_id) and ($8 is null or q.kind = any ($8))
                        order by q.run_at, q.id
                        limit least(room, free[first.of])
                        for update skip locked
                    ))
                    returning *
                )
                insert into meanwhile.running as r (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
                    queue, kind, worker, unique_key, args, detail, session, call, options)
                select id, run_at, created, now(), unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $4,
                    unique_key, args, detail, $9, $10, options
                from moved
                returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts,
                    r.queue, r.kind, r.worker, r.unique_key, r.args, r.detail, r.options, null::interval;
                get diagnostics taken = row_count;
                free[first.of] := free[first.of] - taken;
                room := room - taken;
                if room = 0 then
                    return;
                end if;
            end if;
            due := (
                select q.run_at from meanwhile.queued q
                where q.queue = ($1)[first.of] collate "C" and q.priority = first.priority and q.run_at > now() and q.limit_key is null
                order by q.run_at, q.id
                limit 1
            );
        end if;
        wake := least(wake, due);
    end loop;
    if wake is not null then
        next := wake - now();
        return next;
    end if;
end $$;

-- Returns how many jobs run, by queue and kind. The table has few rows at a time, and as many pages as it ever needed: where millions have run, reading
-- it whole takes longer than anything else on a page of the dashboard. Its primary key leads to the rows alone, so this follows it.
create function meanwhile.running_counts() returns table (queue text, kind text, n bigint)
language plpgsql stable rows 100 set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
begin
    return query
    select queue, kind, count(*) from meanwhile.running
    where id >= '00000000-0000-0000-0000-000000000000' group by queue, kind;
end $$;

-- Reports whether a queue has lanes of keys, or changes of any.
create function meanwhile.has_lanes(text) returns boolean
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return exists (select from meanwhile.queued j where j.queue = $1 and j.limit_key is not null)
        or exists (select from meanwhile.lanes l where l.queue = $1)
        or exists (select from meanwhile.touched t where t.queue = $1)
        or exists (select from meanwhile.noted n where n.queue = $1);
end $$;

-- Returns the highest priority of a due job without a key of the queue at a time, the first time at which one of a higher priority becomes due, and
-- whether any is queued.
create function meanwhile.lane_plain(q text, at timestamptz, out priority int, out next timestamptz, out queued boolean)
language plpgsql stable set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    p int := 10;
    due timestamptz;
begin
    priority := 0;
    queued := false;
    loop
        select j.priority into p from meanwhile.queued j
        where j.queue = q and j.limit_key is null and j.priority < p order by j.priority desc, j.run_at desc, j.id desc limit 1;
        exit when p is null;
        queued := true;
        select j.run_at into due from meanwhile.queued j
        where j.queue = q and j.limit_key is null and j.priority = p order by j.run_at, j.id limit 1;
        if due <= at then
            priority := p;
            exit;
        end if;
        next := least(next, due);
    end loop;
end $$;

-- Returns what has changed in the lanes of the queue $1, whose lock is held, since the change $2, if that is stored and has the tag $3. Otherwise, or if
-- there are more than 1,000 changes or 50,000 keys in them, known is false, and no changes are returned. Last is the number of the last one. Changes
-- without a number get one, and the tag $4: moved is whether there were any, more whether some are left.
create function meanwhile.lanes_changed(text, bigint, bigint, bigint) returns table (
    known boolean, last bigint, moved boolean, more boolean, n bigint, tag bigint, keys text[], priority smallint, run_at timestamptz
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_material = off set jit = off as $$
#variable_conflict use_column
declare
    before bigint := (select q.changed from meanwhile.queues q where q.queue = $1);
    is_known boolean := exists (select from meanwhile.changes c where c.queue = $1 and c.n = $2 and c.tag = $3);
    is_more boolean;
    number bigint;
begin
    with t as (
        delete from meanwhile.touched where ctid = any (array(select t.ctid from meanwhile.touched t where t.queue = $1 limit 2000))
        returning key, priority, run_at
    ), n as (
        delete from meanwhile.noted where ctid = any (array(select n.ctid from meanwhile.noted n where n.queue = $1 limit 20))
        returning keys, priority, run_at
    ), found as (
        select nullif(array_agg(key), array[null::text]) as keys, priority, min(run_at) as run_at
        from (select distinct * from t) t group by priority, key is null
        union all
        select keys, priority, run_at from n
    ), put as (
        insert into meanwhile.changes (queue, n, tag, keys, priority, run_at)
        select $1, before + row_number() over (), $4, keys, priority, run_at from found
        returning 1
    )
    select (select count(*) from t) = 2000 or (select count(*) from n) = 20, (select count(*) from put) into is_more, number;
    if number > 0 then
        update meanwhile.queues set changed = before + number where queue = $1;
        delete from meanwhile.changes where queue = $1 and n > before - 1000 and n <= before + number - 1000;
    end if;
    if is_known then
        is_known := before + number - $2 <= 1000
            and (select coalesce(sum(cardinality(c.keys)), 0) from meanwhile.changes c where c.queue = $1 and c.n > $2) <= 50000;
    end if;
    return query
    select is_known, before + number, number > 0, is_more, c.n, c.tag, c.keys, c.priority, c.run_at
    from (select 1) one left join lateral (
        select c.* from meanwhile.changes c where is_known and c.queue = $1 and c.n > $2 order by c.n
    ) c on true;
end $$;

-- Begins the claim $2, of up to $6 jobs of the queue $5, of the session $1 of the worker $3 with the lease $4. It returns what is stored for the queue,
-- the time, whether it has lanes of keys, what is due without a key and what has changed in the lanes ($7, $8, $9: see lanes_changed); or nothing if it
-- may not take jobs. It locks the queue, unless nothing limits its jobs without a key and it has no lanes. Running is an upper bound of how many run,
-- exact if $6 more would exceed the limit. It is also known where each key may have so many jobs that counting all of the queue from time to time costs
-- less.
create function meanwhile.lanes_begin(bigint, bigint, text, interval, text, int, bigint, bigint, bigint) returns table (
    paused boolean, limits text, free timestamptz, held timestamptz, paid timestamptz, overrides int, running bigint, at timestamptz,
    keyed boolean, kept boolean, plain int, plain_next timestamptz, plain_queued boolean,
    known boolean, last bigint, moved boolean, more boolean, n bigint, tag bigint, keys text[], priority smallint, run_at timestamptz
) language plpgsql set plan_cache_mode = 'force_generic_plan' set jit = off as $$
#variable_conflict use_column
declare
    q meanwhile.queues%rowtype;
    lanes boolean;
    bound int;
    most bigint := 0;
    now timestamptz;
begin
    if not meanwhile.begin_claim($1, $2, 0, $3, $4) then
        return;
    end if;
    perform pg_advisory_xact_lock_shared(hashtextextended('limits of meanwhile.queues', 0));
    select w.* into q from meanwhile.queues w where w.queue = $5;
    lanes := meanwhile.has_lanes($5);
    if lanes or q.held > clock_timestamp() or q.limits::jsonb - 'each_key' <> '{}' then
        select w.* into q from meanwhile.queues w where w.queue = $5 for no key update;
        if not found then
            insert into meanwhile.queues (queue, paused) values ($5, false) on conflict do nothing;
            select w.* into q from meanwhile.queues w where w.queue = $5 for no key update;
        end if;
        lanes := meanwhile.has_lanes($5);
        bound := (q.limits::jsonb ->> 'running')::int;
        if lanes and (q.limits::jsonb #>> '{each_key,running}')::int >= 10000 then
            bound := least(bound, (q.limits::jsonb #>> '{each_key,running}')::int);
        end if;
        if bound > 0 then
            most := q.most;
            if (most + $6 <= bound) is not true then
                select count(*) into most from meanwhile.running r where r.queue = $5;
            end if;
        end if;
    end if;
    now := clock_timestamp();
    return query
    select coalesce(q.paused, false), q.limits, q.free, q.held, q.paid, coalesce(q.overrides, 0), most, now, lanes,
        exists (select from meanwhile.lanes l where l.queue = $5), p.*, c.*
    from (select 1) one
        left join lateral (select * from meanwhile.lane_plain($5, now) where lanes) p on true
        left join lateral (select * from meanwhile.lanes_changed($5, $7, $8, $9) where lanes and not q.paused) c on true;
end $$;

-- Takes up to $2 due jobs without a key of the queue $1, as claim_strict does, for the worker $3, the session $4 and its claim $5, at the time $9. With
-- $10, at most so many jobs of the queue, which is locked, ran before.
create function meanwhile.claim_keyless(text, int, text, bigint, bigint, timestamptz[], uuid[], text[], timestamptz, bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, next interval
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    room int := $2;
    first record; -- of a priority
    taken int;
    due timestamptz;
    wake timestamptz;
begin
    for first in
        select (10 - a.n)::smallint as priority, a.run_at as after, a.id as after_id, j.run_at
        from unnest($6, $7) with ordinality a(run_at, id, n) cross join lateral (
            select q.run_at from meanwhile.queued q
            where q.queue = $1 and q.priority = (10 - a.n)::smallint and q.limit_key is null and (q.run_at, q.id) > (a.run_at, a.id)
            order by q.run_at, q.id
            limit 1
        ) j
    loop
        due := first.run_at;
        if due <= $9 then
            return query
            with moved as (
                delete from meanwhile.queued where ctid = any (array(
                    select q.ctid from meanwhile.queued q
                    where q.queue = $1 and q.priority = first.priority and q.run_at <= $9 and q.limit_key is null
                        and (q.run_at, q.id) > (first.after, first.after_id) and ($8 is null or q.kind = any ($8))
                    order by q.run_at, q.id
                    limit room
                    for update skip locked
                ))
                returning *
            )
            insert into meanwhile.running as r (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
                queue, kind, worker, unique_key, args, detail, session, call, options)
            select id, run_at, created, $9, unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $3,
                unique_key, args, detail, $4, $5, options
            from moved
            returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts,
                r.queue, r.kind, r.worker, r.unique_key, r.args, r.detail, r.options, null::interval;
            get diagnostics taken = row_count;
            room := room - taken;
            exit when room = 0;
            due := (
                select q.run_at from meanwhile.queued q
                where q.queue = $1 and q.priority = first.priority and q.run_at > $9 and q.limit_key is null
                order by q.run_at, q.id
                limit 1
            );
        end if;
        wake := least(wake, due);
    end loop;
    if $10 is not null then
        update meanwhile.queues q set most = $10 + $2 - room where q.queue = $1;
    end if;
    if room > 0 and wake is not null then
        next := wake - now();
        return next;
    end if;
end $$;

-- Returns the next $3 lanes of the queue $1 after the key $2, each with its first $4 waiting jobs. Those behind these are skipped.
create function meanwhile.lanes_load(text, text, int, int) returns table (key text, priority smallint, run_at timestamptz, id uuid, place tid)
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
declare
    j record;
    lanes int := 0;
    of_lane int := 0;
    passed boolean := true;
begin
    key := $2;
    while passed loop
        passed := false;
        for j in
            select q.limit_key, q.priority, q.run_at, q.id, q.ctid from meanwhile.queued q
            where q.queue = $1 and q.limit_key is not null and q.limit_key > key
            order by q.limit_key, q.priority desc, q.run_at, q.id limit $3 * $4
        loop
            if of_lane = 0 or j.limit_key <> key then
                exit when lanes = $3;
                lanes := lanes + 1;
                of_lane := 0;
                key := j.limit_key;
            end if;
            of_lane := of_lane + 1;
            priority := j.priority;
            run_at := j.run_at;
            id := j.id;
            place := j.ctid;
            return next;
            if of_lane = $4 then
                passed := true;
                of_lane := 0;
                exit;
            end if;
        end loop;
    end loop;
end $$;

-- Returns up to $4 waiting jobs of each of the lanes $2 of the queue $1, by the numbers of the lanes, of a priority below $3, the highest first, then by
-- time and ID.
create function meanwhile.lanes_heads(text, text[], smallint[], int) returns table (lane bigint, priority smallint, run_at timestamptz, id uuid, place tid)
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    select w.n, h.* from unnest($2, $3) with ordinality w(key, below, n) cross join lateral (
        select q.priority, q.run_at, q.id, q.ctid from meanwhile.queued q
        where q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C" and q.priority < w.below
        order by q.priority desc, q.run_at, q.id limit $4
    ) h;
end $$;

-- Returns up to $6 due jobs of each of the lanes $2 of the queue $1, by the numbers of the lanes, that have the priorities $3 and come after the times $4
-- and the IDs $5; $7 is now.
create function meanwhile.lanes_more(text, text[], smallint[], timestamptz[], uuid[], int[], timestamptz) returns table (
    lane bigint, priority smallint, run_at timestamptz, id uuid, place tid
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    select w.n, h.* from unnest($2, $3, $4, $5, $6) with ordinality w(key, priority, run_at, id, want, n) cross join lateral (
        select q.priority, q.run_at, q.id, q.ctid from meanwhile.queued q
        where q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C" and q.priority = w.priority and q.run_at <= $7
            and (q.run_at, q.id) > (w.run_at, w.id)
        order by q.run_at, q.id limit w.want
    ) h;
end $$;

-- For each of the lanes $2 of the queue $1, whose jobs run in order, returns the priority of the first job if it is due at $3, or when it will be, and
-- whether any is queued.
create function meanwhile.lanes_first(text, text[], timestamptz) returns table (lane bigint, priority int, next timestamptz, queued boolean)
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    select w.n, case when f.run_at <= $3 and not f.held then f.priority::int else 0 end, case when f.run_at > $3 and not f.held then f.run_at end,
        f.run_at is not null
    from unnest($2) with ordinality w(key, n) left join lateral (
        select j.priority, j.run_at, exists (
            select from meanwhile.holders h where h.queue = $1 and h.key = w.key collate "C" and (h.created, h.id) < (j.created, j.id)
        ) held
        from meanwhile.queued j
        where j.queue = $1 and j.limit_key <> '' and j.limit_key = w.key collate "C"
        order by j.created, j.id limit 1
    ) f on true;
end $$;

-- Returns those of the lanes $2 of the queue $1, '' among them, that have a job of the priority $3 that is due at $4.
create function meanwhile.lanes_due(text, text[], smallint, timestamptz) returns setof text
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
begin
    return query
    select w.key from unnest($2) w(key)
    where case when w.key = '' then (
        select true from meanwhile.queued j
        where j.queue = $1 and j.limit_key is null and j.priority = $3 and j.run_at <= $4
        limit 1
    ) else (
        select true from meanwhile.queued j
        where j.queue = $1 and j.limit_key is not null and j.limit_key = w.key collate "C" and j.priority = $3 and j.run_at <= $4
        limit 1
    ) end;
end $$;

-- Returns the state of the lanes $2 of the queue $1, with $4, the limits of their keys alone, with $5, and how many of their jobs run, with $3.
create function meanwhile.lanes_kept(text, text[], boolean, boolean, boolean) returns table (
    lane bigint, free timestamptz, paid timestamptz, held timestamptz, limits text, running bigint
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    select w.n, l.free, l.paid, l.held, o.limits, case when $3 then (
        select count(*) from meanwhile.running r where r.queue = $1 and r.limit_key is not null and r.limit_key = w.key collate "C"
    ) else 0 end
    from unnest($2) with ordinality w(key, n)
        left join lateral (select l.free, l.paid, l.held from meanwhile.lanes l where $4 and l.queue = $1 and l.key = w.key collate "C" limit 1) l on true
        left join lateral (select o.limits from meanwhile.overrides o where $5 and o.queue = $1 and o.key = w.key collate "C" limit 1) o on true;
end $$;

-- Returns what the jobs cost that lanes_give takes from the lanes $3, up to $4 of each: by the numbers of the lanes, in the order of the jobs. The cost
-- is the first of the options, which are not read as JSON, since they may have what json refuses.
create function meanwhile.lanes_cost(text, int, text[], int[], timestamptz, text[]) returns table (lane bigint, cost bigint)
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    ordered boolean := coalesce((select q.limits::jsonb #>> '{each_key,in_order}' from meanwhile.queues q where q.queue = $1) = 'true', false);
begin
    return query
    select w.n, coalesce(substring(due.options from '^\{"cost":([0-9]+)')::bigint, 0)
    from unnest($3, $4) with ordinality w(key, want, n) cross join lateral (
        select k.* from (
            select q.options, q.run_at, q.id from meanwhile.queued q
            where w.key <> '' and not ordered and q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C"
                and q.priority = $2::smallint and q.run_at <= $5 and ($6 is null or q.kind = any ($6))
            order by q.run_at, q.id limit w.want
        ) k
        union all
        select n.* from (
            select q.options, q.run_at, q.id from meanwhile.queued q
            where w.key = '' and q.queue = $1 and q.limit_key is null
                and q.priority = $2::smallint and q.run_at <= $5 and ($6 is null or q.kind = any ($6))
            order by q.run_at, q.id limit w.want
        ) n
        union all
        select f.* from (
            select q.options, q.run_at, q.id from meanwhile.queued q
            where ordered and w.key <> '' and q.ctid = (
                select h.ctid from meanwhile.queued h
                where h.queue = $1 and h.limit_key <> '' and h.limit_key = w.key collate "C"
                order by h.created, h.id limit 1
            ) and q.priority = $2::smallint and q.run_at <= $5 and ($6 is null or q.kind = any ($6)) and not exists (
                select from meanwhile.holders d
                where d.queue = $1 and d.key = w.key collate "C" and (d.created, d.id) < (q.created, q.id)
            )
            limit w.want
        ) f
    ) due
    order by w.n, due.run_at, due.id;
end $$;

-- Takes up to $4[i] jobs of the lane $3[i] of the queue $1 that are due at $5 and have the priority $2, for the claim $9 of the session $7 of the worker
-- $6, of the kinds $8; null is any. Of a lane whose jobs run in order it takes only the first, unless a discarded job holds it back. Like claim_strict,
-- it fails if a job with the same ID is running already.
create function meanwhile.lanes_give(text, int, text[], int[], timestamptz, text, bigint, text[], bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    ordered boolean := coalesce((select q.limits::jsonb #>> '{each_key,in_order}' from meanwhile.queues q where q.queue = $1) = 'true', false);
begin
    return query
    with moved as (
        delete from meanwhile.queued where ctid = any (array(
            select due.ctid from unnest($3, $4) w(key, want) cross join lateral (
                select k.ctid from (
                    select q.ctid from meanwhile.queued q
                    where w.key <> '' and not ordered and q.queue = $1 and q.limit_key is not null and q.limit_key = w.key collate "C"
                        and q.priority = $2::smallint and q.run_at <= $5 and ($8 is null or q.kind = any ($8))
                    order by q.run_at, q.id limit w.want for update skip locked
                ) k
                union all
                select n.ctid from (
                    select q.ctid from meanwhile.queued q
                    where w.key = '' and q.queue = $1 and q.limit_key is null
                        and q.priority = $2::smallint and q.run_at <= $5 and ($8 is null or q.kind = any ($8))
                    order by q.run_at, q.id limit w.want for update skip locked
                ) n
                union all
                select f.ctid from (
                    select q.ctid from meanwhile.queued q
                    where ordered and w.key <> '' and q.ctid = (
                        select h.ctid from meanwhile.queued h
                        where h.queue = $1 and h.limit_key <> '' and h.limit_key = w.key collate "C"
                        order by h.created, h.id limit 1
                    ) and q.priority = $2::smallint and q.run_at <= $5 and ($8 is null or q.kind = any ($8)) and not exists (
                        select from meanwhile.holders d
                        where d.queue = $1 and d.key = w.key collate "C" and (d.created, d.id) < (q.created, q.id)
                    )
                    for update skip locked
                ) f
            ) due
        ))
        returning *
    )
    insert into meanwhile.running as r (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
        queue, kind, worker, unique_key, args, detail, session, call, options, limit_key)
    select id, run_at, created, $5, unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $6,
        unique_key, args, detail, $7, $9, options, limit_key
    from moved
    returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
        r.kind, r.worker, r.unique_key, r.args, r.detail, r.options;
end $$;

-- Takes those of the jobs $3 that wait at $4 in the queue $1, have the priority $2 and are due at $5, for the claim $8 of the session $7 of the worker
-- $6. Like claim_strict, it fails if a job with the same ID is running already.
create function meanwhile.lanes_hold(text, smallint, uuid[], tid[], timestamptz, text, bigint, bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
begin
    return query
    with moved as (
        delete from meanwhile.queued where ctid = any (array(
            select f.ctid from unnest($3, $4) w(id, place) cross join lateral (
                select q.ctid from meanwhile.queued q
                where q.ctid = w.place and q.id = w.id and q.queue = $1 and q.limit_key is not null and q.priority = $2 and q.run_at <= $5
                for update skip locked
            ) f
        ))
        returning *
    )
    insert into meanwhile.running as r (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
        queue, kind, worker, unique_key, args, detail, session, call, options, limit_key)
    select id, run_at, created, $5, unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $6,
        unique_key, args, detail, $7, $8, options, limit_key
    from moved
    returning r.id, r.run_at, r.created, r.started, r.unique_for, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
        r.kind, r.worker, r.unique_key, r.args, r.detail, r.options;
end $$;

-- Returns the next $3 limit keys after $2 of the queue $1 that have a lane or queued jobs.
create function meanwhile.lanes_keys(text, text, int) returns setof text
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off as $$
begin
    return query
    with recursive k(key) as (
        select (
            select j.limit_key from meanwhile.queued j
            where j.queue = $1 and j.limit_key is not null and j.limit_key > $2 order by j.limit_key limit 1
        )
        union all
        select (
            select j.limit_key from meanwhile.queued j
            where j.queue = $1 and j.limit_key is not null and j.limit_key > k.key order by j.limit_key limit 1
        ) from k where k.key is not null
    )
    (select l.key from meanwhile.lanes l where l.queue = $1 and l.key > $2 order by l.key limit $3)
    union
    (select k.key from k where k.key is not null limit $3)
    order by 1 limit $3;
end $$;

-- Finishes the jobs $2 that the session $1 holds with the attempt $3, in the state $4, and returns those that it does not hold. They have neither keys
-- nor a detail. It fails if a job with the same ID has finished already, as claim_strict does.
create function meanwhile.settle_strict(bigint, uuid[], int, text) returns setof uuid
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
begin
    return query
    with gone as (
        delete from meanwhile.running r where r.id = any ($2) and r.attempt = $3 and r.session = $1
        returning r.id, r.run_at, r.created, r.started, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
            r.kind, r.worker, r.args, r.options
    ), put as (
        insert into meanwhile.finished (id, run_at, created, started, priority, attempt, spared, died, max_attempts, queue,
            kind, worker, args, options, finished, state)
        select g.*, now(), $4 from gone g
    ), counted as (
        insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
        select -count(*), count(*) filter (where $4 = 'completed'), count(*) filter (where $4 = 'canceled'),
            count(*) filter (where $4 = 'discarded'), queue, kind
        from gone group by queue, kind
    )
    select i from unnest($2) i
    where (select count(*) from gone) < cardinality($2) and not exists (select from gone g where g.id = i);
end $$;

-- Does the same as settle_strict, but a job that has finished already stays as it is.
create function meanwhile.settle_alike(bigint, uuid[], int, text) returns setof uuid
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
begin
    return query
    with gone as (
        delete from meanwhile.running r where r.id = any ($2) and r.attempt = $3 and r.session = $1
        returning r.id, r.run_at, r.created, r.started, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
            r.kind, r.worker, r.args, r.options
    ), put as (
        insert into meanwhile.finished (id, run_at, created, started, priority, attempt, spared, died, max_attempts, queue,
            kind, worker, args, options, finished, state)
        select g.*, now(), $4 from gone g
        on conflict (id) do nothing
    ), counted as (
        insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
        select -count(*), count(*) filter (where $4 = 'completed'), count(*) filter (where $4 = 'canceled'),
            count(*) filter (where $4 = 'discarded'), queue, kind
        from gone group by queue, kind
    )
    select i from unnest($2) i
    where (select count(*) from gone) < cardinality($2) and not exists (select from gone g where g.id = i);
end $$;

-- Does the same as settle_strict, for jobs of which some have limit keys: it notes their lanes.
create function meanwhile.settle_keyed(bigint, uuid[], int, text) returns setof uuid
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set meanwhile_jobs.lanes = 'noted' as $$
#variable_conflict use_column
begin
    return query
    with gone as (
        delete from meanwhile.running r where r.id = any ($2) and r.attempt = $3 and r.session = $1
        returning r.id, r.run_at, r.created, r.started, r.priority, r.attempt, r.spared, r.died, r.max_attempts, r.queue,
            r.kind, r.worker, r.args, r.options, r.limit_key
    ), put as (
        insert into meanwhile.finished (id, run_at, created, started, priority, attempt, spared, died, max_attempts, queue,
            kind, worker, args, options, finished, state)
        select id, run_at, created, started, priority, attempt, spared, died, max_attempts, queue, kind, worker, args, options, now(), $4
        from gone
    ), counted as (
        insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
        select -count(*), count(*) filter (where $4 = 'completed'), count(*) filter (where $4 = 'canceled'),
            count(*) filter (where $4 = 'discarded'), queue, kind
        from gone group by queue, kind
    ), noted as (
        insert into meanwhile.noted (queue, keys, priority)
        select queue, array_agg(limit_key), 0 from gone where limit_key is not null group by queue
    )
    select i from unnest($2) i
    where (select count(*) from gone) < cardinality($2) and not exists (select from gone g where g.id = i);
end $$;

-- Returns the IDs of the newest finished jobs, at most $6 of each of the lists of queue $1[i], kind $2[i] and state $3[i], from $4 and below $5. $7 is
-- their worker, $8 the time before which they finished, $9 patterns of the args, $10 one of the detail, and $11 texts that the options have after a
-- brace or a comma; null is no condition. Whatever the statistics say of a rare kind, a list is a range of its index, read backwards. The primary key
-- has the same order; with these costs only comparisons count, of which the index needs one fewer for each row, since it knows the state. What is not
-- in the index is read by the primary key, and only if it is asked for.
create function meanwhile.list_finished(text[], text[], text[], uuid, uuid, int, text, timestamptz, text[], text, text[]) returns setof uuid
language plpgsql stable set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off set random_page_cost = 0 set seq_page_cost = 0
set cpu_operator_cost = 1 as $$
#variable_conflict use_column
begin
    return query
    select f.id
    from unnest($1, $2, $3) c(queue, kind, state) cross join lateral (
        select id from meanwhile.finished l
        where state = 'completed' and queue = c.queue collate "C" and kind = c.kind collate "C" and id >= $4 and id < $5
            and ($7 is null and $8 is null and $9 is null and $10 is null and $11 is null or exists (
                select from meanwhile.finished w where w.id = l.id and ($7 is null or w.worker = $7)
                    and ($8 is null or w.finished < $8) and ($9 is null or strpos(w.args, '\') > 0 or w.args like all ($9))
                    and ($10 is null or lower(w.detail) like $10)
                    and ($11 is null or not exists (select from unnest($11) m where coalesce(strpos(w.options, '{' || m) + strpos(w.options, ',' || m), 0) = 0))
            ))
        order by id desc
        limit $6
    ) f
    where c.state = 'completed'
    union all
    select f.id
    from unnest($1, $2, $3) c(queue, kind, state) cross join lateral (
        select id from meanwhile.finished l
        where state <> 'completed' and queue = c.queue collate "C" and kind = c.kind collate "C" and state = c.state collate "C"
            and id >= $4 and id < $5
            and ($7 is null and $8 is null and $9 is null and $10 is null and $11 is null or exists (
                select from meanwhile.finished w where w.id = l.id and ($7 is null or w.worker = $7)
                    and ($8 is null or w.finished < $8) and ($9 is null or strpos(w.args, '\') > 0 or w.args like all ($9))
                    and ($10 is null or lower(w.detail) like $10)
                    and ($11 is null or not exists (select from unnest($11) m where coalesce(strpos(w.options, '{' || m) + strpos(w.options, ',' || m), 0) = 0))
            ))
        order by id desc
        limit $6
    ) f
    where c.state <> 'completed';
end $$;
