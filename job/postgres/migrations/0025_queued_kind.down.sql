drop index meanwhile.queued_keyed;
create index queued_keyed on meanwhile.queued (queue, run_at) where limit_key > '';
drop index meanwhile.queued_due;
create index queued_due on meanwhile.queued (queue, priority, run_at, id) where limit_key is null;
