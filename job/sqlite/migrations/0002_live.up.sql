-- Jobs that somebody watches, with the tree that their worker told last.
create table meanwhile_watch (
    job     blob    not null primary key,
    until   integer not null,
    attempt integer,
    at      integer,
    tree    blob
);

-- What workers are to do, until they fetch it.
create table meanwhile_order (
    seq    integer primary key autoincrement,
    worker text    not null,
    made   integer not null,
    word   text    not null
);
create index meanwhile_order_worker on meanwhile_order (worker);

-- What the run of a worker that began at run did in a minute.
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
