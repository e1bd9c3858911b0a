-- readable from 6
-- Until when no job of a queue, or of one of its lanes, starts, since an upstream said that there are too many.
alter table meanwhile_queue add column held integer not null default 0;
alter table meanwhile_lane add column held integer not null default 0;
