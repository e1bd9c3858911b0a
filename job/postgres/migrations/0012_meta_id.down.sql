drop index meanwhile.queued_meta_id, meanwhile.running_meta_id, meanwhile.finished_meta_id;
