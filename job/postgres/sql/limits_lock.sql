-- Waits for running claims that take queues to have no limits, and lets none begin before the end of the transaction.
select null::uuid from pg_advisory_xact_lock(hashtextextended('limits of meanwhile.queues', 0)) l where l is null
