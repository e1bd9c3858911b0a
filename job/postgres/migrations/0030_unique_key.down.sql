drop index meanwhile.queued_unique;
