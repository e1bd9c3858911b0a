-- A job is a row of one of three tables, whose first sixteen columns are the same: queued until it is claimed, running
-- until it is settled, finished until it is pruned. The first two stay small and churn, so vacuum looks at them often.

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
    detail       text        collate "C"
) with (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 10000
);

-- The order of claims.
create index queued_due on meanwhile.queued (queue, priority, run_at, id);

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
    lease_until  timestamptz not null,
    cancel_requested boolean not null default false
) with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 10000
);

-- Only what is to be canceled, so that renewing a lease changes no index.
create index running_cancel on meanwhile.running (worker) where cancel_requested;

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
    state        text        collate "C" not null
) with (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02
);

-- To list by any of queue, kind and state, newest first: the lists of their combinations, which counts knows, are merged.
-- Nearly all finished jobs are completed ones, which therefore need no index of their own.
create index finished_class on meanwhile.finished (queue, kind, id);
create index finished_failed on meanwhile.finished (queue, kind, state, id) where state <> 'completed';
-- To prune: an index on one column costs a third of one on state and time.
create index finished_completed on meanwhile.finished (finished) where state = 'completed';
create index finished_canceled on meanwhile.finished (finished) where state = 'canceled';
create index finished_discarded on meanwhile.finished (finished) where state = 'discarded';
create index finished_key on meanwhile.finished (unique_key, id) where unique_key is not null;

-- Who holds a unique key: an unfinished job while free_at is null, then a finished one until free_at.
create table meanwhile.keys (
    key     text collate "C" not null primary key,
    id      uuid not null,
    free_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

create index keys_free on meanwhile.keys (free_at) where free_at is not null;

-- The sums by queue and kind are how many jobs there are. Every writer appends what it changed, so that none waits for
-- another; now and then the rows are put together.
create table meanwhile.counts (
    unfinished bigint not null default 0,
    completed  bigint not null default 0,
    canceled   bigint not null default 0,
    discarded  bigint not null default 0,
    queue      text   collate "C" not null,
    kind       text   collate "C" not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- The queues that were ever paused.
create table meanwhile.queues (
    queue  text collate "C" not null primary key,
    paused boolean not null
);

create table meanwhile.workers (
    worker text collate "C" not null primary key,
    info   text not null,
    seen   timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

create table meanwhile.crons (
    cron   text collate "C" not null primary key,
    spec   text not null,
    last   timestamptz not null,
    next   timestamptz not null,
    paused boolean not null default false,
    job    uuid,
    noted  timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
