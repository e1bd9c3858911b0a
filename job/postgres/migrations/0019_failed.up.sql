-- readable from 9
-- To list the queued jobs that have failed before, which are few, however many others are queued.
create index queued_failed on meanwhile.queued (id) where attempt - spared > 0;
