-- readable from 9
-- How many jobs of a lane have started in its turn, see job.TakeTurns.
alter table meanwhile.lanes add column served int not null default 0;

-- Limits of single keys, and how many there are of a queue, so that one without any is not searched for them.
alter table meanwhile.queues add column overrides int not null default 0;
create table meanwhile.overrides (
    queue  text collate "C" not null,
    key    text collate "C" not null,
    limits text not null,
    primary key (queue, key)
);
