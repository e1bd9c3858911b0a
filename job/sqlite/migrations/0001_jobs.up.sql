-- Times are microseconds since 1970 UTC. States: 0 queued, 1 running, 2 completed, 3 canceled, 4 discarded.

create table meanwhile_queue (
    id     integer primary key,
    name   text    not null unique,
    paused integer not null default 0
);

-- A class is what jobs of one queue and kind have in common. Classes are never changed or deleted.
create table meanwhile_class (
    id    integer primary key,
    queue integer not null,
    kind  text    not null,
    unique (queue, kind)
);

-- One row for a job from its insertion until it is pruned. What has to stay small are the indexes: each holds only the
-- jobs in the states that it is for.
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
    lease_until  integer,
    cancel       integer not null default 0,
    worker       text,
    unique_key   text,
    unique_for   integer,
    args         text    not null,
    detail       text
);
create unique index meanwhile_job_id on meanwhile_job (id);
create index meanwhile_job_queued on meanwhile_job (queue, priority, run_at, id, class) where state = 0;
create index meanwhile_job_running on meanwhile_job (queue, lease_until) where state = 1;
create index meanwhile_job_cancel on meanwhile_job (worker) where state = 1 and cancel = 1;
create index meanwhile_job_finished on meanwhile_job (state, finished) where state >= 2;
create index meanwhile_job_archive on meanwhile_job (class, state, id) where state >= 2;
create index meanwhile_job_key on meanwhile_job (unique_key) where unique_key is not null;

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
