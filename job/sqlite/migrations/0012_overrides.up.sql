-- readable from 6
-- How many jobs of a lane have started in its turn, see job.TakeTurns.
alter table meanwhile_lane add column served integer not null default 0;

-- Limits of single keys, and how many there are of a queue, so that one without any is not searched for them.
alter table meanwhile_queue add column overrides integer not null default 0;
create table meanwhile_override (
    queue  integer not null,
    key    text    not null,
    limits text    not null,
    primary key (queue, key)
) without rowid;
