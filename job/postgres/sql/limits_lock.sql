-- Waits for running claims that assume queues to have no limits, and keeps others from starting before the end of the
-- transaction.
select null::uuid from pg_advisory_xact_lock(hashtextextended('limits of meanwhile.queues', 0)) l where l is null
