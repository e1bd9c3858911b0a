-- Notifies the channel $1 of due jobs in the queues $2 when the transaction commits. It returns no row.
select null::uuid from unnest($2::text[]) q where pg_notify($1, q) is null
