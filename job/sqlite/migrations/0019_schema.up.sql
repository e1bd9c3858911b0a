-- The schema of the first release. Development versions before it had 19 migrations, which led to the same.
--
-- Times are microseconds since 1970 UTC. States: 0 queued, 1 running, 2 completed, 3 canceled, 4 discarded.

-- Free is the state of the rate of starts, paid that of the rate of units; until held, no job starts, since an upstream was overloaded. Overrides is how
-- many keys have limits of their own. At_capacity is 1 if a key of the queue was ever found at capacity: then the end of each job is a change of its
-- lane.
create table meanwhile_queue (
    id          integer primary key,
    name        text    not null unique,
    paused      integer not null default 0,
    limits      text,
    free        integer not null default 0,
    held        integer not null default 0,
    paid        integer not null default 0,
    overrides   integer not null default 0,
    at_capacity integer not null default 0
);

-- A class is what jobs of one queue and kind have in common. Classes are never changed or deleted.
create table meanwhile_class (
    id    integer primary key,
    queue integer not null,
    kind  text    not null,
    unique (queue, kind)
);

-- A job is one row, from its insertion until it is pruned. What has to stay small are the indexes: each has only the jobs in the states that it is for.
-- Options is what was set for one job when it was enqueued, as JSON: its timeout, its meta and its cost. The limit key is a column of its own: as an
-- expression over the options it would be computed again for each index that has it, whenever a job is claimed or finished.
create table meanwhile_job (
    seq          integer primary key autoincrement,
    id           blob    not null,
    class        integer not null,
    queue        integer not null,
    state        integer not null default 0,
    priority     integer not null,
    run_at       integer not null,
    attempt      integer not null default 0,
    spared       integer not null default 0,
    died         integer not null default 0,
    max_attempts integer not null,
    created      integer not null,
    started      integer,
    finished     integer,
    session      integer,
    cancel       integer not null default 0,
    worker       text,
    unique_key   text,
    unique_for   integer,
    args         text    not null,
    detail       text,
    options      text,
    call         integer,
    limit_key    text
);
create unique index meanwhile_job_id on meanwhile_job (id);
create index meanwhile_job_finished on meanwhile_job (state, finished) where state >= 2;
create index meanwhile_job_archive on meanwhile_job (class, state, id) where state >= 2;
create index meanwhile_job_key on meanwhile_job (unique_key) where unique_key is not null;
create index meanwhile_job_cancel on meanwhile_job (session) where state = 1 and cancel = 1;
-- Jobs by the ID that another system knows them by, which few have.
create index meanwhile_job_meta_id on meanwhile_job (json_extract(options, '$.meta.jid'))
where json_extract(options, '$.meta.jid') is not null;
create index meanwhile_job_keyed on meanwhile_job (queue, run_at, id, class) where state = 0 and limit_key is not null;
-- A running job is in one of these two indexes.
create index meanwhile_job_running on meanwhile_job (queue, session) where state = 1 and limit_key is null;
create index meanwhile_job_running_lane on meanwhile_job (queue, limit_key, session) where state = 1 and limit_key is not null;
-- For lists of the queued jobs that have failed before, which are few. With the class, a list of those of a rare kind reads no others.
create index meanwhile_job_failed on meanwhile_job (id, class) where state = 0 and attempt > spared;
-- The order of claims of jobs without a limit key. The limit key costs a byte for each job, and lets SQLite read nothing but the index where it goes
-- through all that is queued.
create index meanwhile_job_queued on meanwhile_job (queue, priority, run_at, id, class, limit_key) where state = 0 and limit_key is null;

-- Who holds a unique key; until is null while the job is unfinished.
create table meanwhile_key (
    key   text primary key,
    job   blob not null,
    until integer
) without rowid;
create index meanwhile_key_until on meanwhile_key (until) where until is not null;

create table meanwhile_count (
    class integer not null,
    state integer not null,
    n     integer not null,
    primary key (class, state)
) without rowid;

-- One lease holds all jobs that a worker process runs: they have the number of its session, so that one row is renewed instead of each of theirs.
-- Session 0 belongs to nobody: the lease of its jobs is over. From_call is the first call of the session that counts.
create table meanwhile_session (
    id          integer primary key,
    worker      text    not null,
    lease_until integer not null,
    from_call   integer not null default 0
);

create table meanwhile_worker (
    name text primary key,
    seen integer not null,
    info text    not null
) without rowid;

create table meanwhile_cron (
    name   text primary key,
    spec   text    not null,
    last   integer,
    next   integer,
    paused integer not null default 0,
    job    blob,
    noted  integer not null
) without rowid;

-- Jobs that somebody watches, with the tree that their worker sent last.
create table meanwhile_watch (
    job     blob    not null primary key,
    until   integer not null,
    attempt integer,
    at      integer,
    tree    blob
);

-- Commands for workers, until they receive them.
create table meanwhile_order (
    seq    integer primary key autoincrement,
    worker text    not null,
    made   integer not null,
    word   text    not null
);
create index meanwhile_order_worker on meanwhile_order (worker);

-- What a worker, which has counted since run, did in a minute.
create table meanwhile_stat (
    minute integer not null,
    worker text    not null,
    run    integer not null,
    queue  text    not null,
    kind   text    not null,
    total  integer not null,
    stat   text    not null,
    primary key (minute, worker, run, queue, kind)
) without rowid;

-- What all workers did in a longer time, see job.MergeStats.
create table meanwhile_past (
    began integer not null,
    queue text    not null,
    kind  text    not null,
    stat  text    not null,
    primary key (began, queue, kind)
) without rowid;

-- What operators did.
create table meanwhile_audit (
    n     integer primary key autoincrement,
    at    integer not null,
    entry text    not null
);

-- Limits of single keys.
create table meanwhile_override (
    queue  integer not null,
    key    text    not null,
    limits text    not null,
    primary key (queue, key)
) without rowid;

-- The discarded jobs that hold back the jobs behind them in their lanes, if the limits of the queue say so.
create table meanwhile_holder (
    queue   integer not null,
    key     text    not null,
    created integer not null,
    id      blob    not null,
    primary key (queue, key, created, id)
) without rowid;

-- A lane is the queued jobs of a queue that have the same limit key. Each process that claims keeps lanes in memory. The file has what they consist of:
-- the waiting jobs, the state of rates and throttling, and what has changed. So no index by limit key is written when a job is claimed. The index of
-- jobs that run in order is created when a queue first needs it, see lane_order.

-- Each queued job with a limit key is here. So may be one that was claimed: who claimed it removes it later, with others of its lane.
create table meanwhile_waiting (
    queue    integer not null,
    key      text    not null,
    priority integer not null,
    run_at   integer not null,
    id       blob    not null,
    seq      integer not null,
    primary key (queue, key, priority desc, run_at, id)
) without rowid;

-- The last changes of lanes, numbered without gaps: of the lane of a key, or of all lanes of a queue if it is null. The priority is that of a new job,
-- due at run_at; 0 if a job has ended; otherwise null.
create table meanwhile_change (
    n        integer primary key,
    queue    integer not null,
    key      text,
    priority integer,
    run_at   integer
);

-- The state of rates and throttling of a lane. From idle on, it no longer matters.
create table meanwhile_lane (
    queue integer not null,
    key   text    not null,
    free  integer not null default 0,
    paid  integer not null default 0,
    held  integer not null default 0,
    idle  integer not null,
    primary key (queue, key)
) without rowid;
create index meanwhile_lane_idle on meanwhile_lane (queue, idle);

-- The triggers run for statements that name run_at among the columns they set. A statement that claims jobs, or finishes jobs whose limit keys the store
-- knows, does not: then the store writes the lanes itself, and jobs without a limit key cost nothing.
create trigger meanwhile_job_lane_insert after insert on meanwhile_job when new.limit_key is not null
begin
    insert into meanwhile_waiting (queue, key, priority, run_at, id, seq)
    values (new.queue, new.limit_key, new.priority, new.run_at, new.id, new.seq);
    insert into meanwhile_change (queue, key, priority, run_at) values (new.queue, new.limit_key, new.priority, new.run_at);
end;
create trigger meanwhile_job_lane_update after update of queue, priority, run_at on meanwhile_job
when old.limit_key is not null and (old.state < 2 or new.state < 2)
begin
    delete from meanwhile_waiting
    where queue = old.queue and key = old.limit_key and priority = old.priority and run_at = old.run_at and id = old.id;
    insert into meanwhile_waiting (queue, key, priority, run_at, id, seq)
    select new.queue, new.limit_key, new.priority, new.run_at, new.id, new.seq where new.state = 0
    on conflict do nothing;
    insert into meanwhile_change (queue, key, priority)
    values (old.queue, old.limit_key, iif(old.state = 1 and new.state >= 2, 0, null));
    insert into meanwhile_change (queue, key) select new.queue, new.limit_key where new.queue <> old.queue;
end;
create trigger meanwhile_job_lane_delete after delete on meanwhile_job when old.limit_key is not null and old.state < 2
begin
    delete from meanwhile_waiting
    where queue = old.queue and key = old.limit_key and priority = old.priority and run_at = old.run_at and id = old.id;
    insert into meanwhile_change (queue, key) values (old.queue, old.limit_key);
end;

-- A discarded job holds its lane, until it is retried or deleted.
create trigger meanwhile_job_hold after update of queue, priority, run_at on meanwhile_job
when new.state = 4 and old.state <> 4 and new.limit_key is not null and exists (
    select 1 from meanwhile_queue where id = new.queue and json_extract(limits, '$.each_key.hold_on_discard')
)
begin
    insert or ignore into meanwhile_holder (queue, key, created, id) values (new.queue, new.limit_key, new.created, new.id);
end;
create trigger meanwhile_job_release_update after update of queue, priority, run_at on meanwhile_job
when old.state = 4 and new.state <> 4 and old.limit_key is not null
begin
    delete from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id;
end;
create trigger meanwhile_job_release_delete after delete on meanwhile_job when old.state = 4 and old.limit_key is not null
begin
    insert into meanwhile_change (queue, key) select old.queue, old.limit_key where exists (
        select 1 from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id
    );
    delete from meanwhile_holder where queue = old.queue and key = old.limit_key and created = old.created and id = old.id;
end;
