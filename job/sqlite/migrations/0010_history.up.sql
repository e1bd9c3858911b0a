-- readable from 6
-- What operators did.
create table meanwhile_audit (
    n     integer primary key autoincrement,
    at    integer not null,
    entry text    not null
);

-- What all workers did in a longer time that began at began, see job.MergeStats.
create table meanwhile_past (
    began integer not null,
    queue text    not null,
    kind  text    not null,
    stat  text    not null,
    primary key (began, queue, kind)
) without rowid;
