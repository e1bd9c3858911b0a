drop table meanwhile.crons, meanwhile.workers, meanwhile.queues, meanwhile.counts, meanwhile.keys, meanwhile.finished,
    meanwhile.running, meanwhile.queued;
