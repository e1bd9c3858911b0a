-- Limits how long each further statement of the transaction waits for a lock to $1 ms, unless the connection has a shorter lock_timeout (0 is none).
-- It returns no row.
select null::uuid
where set_config('lock_timeout', least($1::bigint, nullif(floor(extract(epoch from current_setting('lock_timeout')::interval) * 1000), 0)::bigint)::text, true) is null
