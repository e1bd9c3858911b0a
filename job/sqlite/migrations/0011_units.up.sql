-- readable from 6
-- What is kept of the rate of units of a queue, and of each of its lanes, as free is of that of starts.
alter table meanwhile_queue add column paid integer not null default 0;
alter table meanwhile_lane add column paid integer not null default 0;
