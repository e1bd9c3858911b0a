drop index meanwhile.queued_failed;
