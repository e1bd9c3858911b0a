-- Jobs that somebody watches, with the tree that their worker told last. What this table and the next one hold is over in a
-- minute: it need not outlive a crash.
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

-- What workers are to do, until they fetch it.
create unlogged table meanwhile.orders (
    seq    bigint      generated always as identity primary key,
    worker text        collate "C" not null,
    made   timestamptz not null default now(),
    word   text        not null
);
create index orders_worker on meanwhile.orders (worker);

-- What the run of a worker that began at run did in a minute.
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
