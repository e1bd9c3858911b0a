-- readable from 9
-- The indexes of queued jobs have their kinds too, so that those of a rare kind are found without the jobs of the others: a tenth of what the table is.
drop index meanwhile.queued_due;
create index queued_due on meanwhile.queued (queue, priority, run_at, id) include (kind) where limit_key is null;
drop index meanwhile.queued_keyed;
create index queued_keyed on meanwhile.queued (queue, run_at) include (id, kind) where limit_key > '';
