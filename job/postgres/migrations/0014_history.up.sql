-- readable from 9
-- What operators did.
create table meanwhile.audit (
    n     bigint      generated always as identity primary key,
    at    timestamptz not null,
    entry text        collate "C" not null
);

-- What all workers did in a longer time that began at began, see job.MergeStats.
create table meanwhile.past (
    began timestamptz not null,
    queue text        collate "C" not null,
    kind  text        collate "C" not null,
    stat  text        collate "C" not null,
    primary key (began, queue, kind)
);
