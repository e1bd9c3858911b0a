-- Has each further statement of the transaction wait for a lock for $1 ms at most, if the time set for the connection is not shorter; 0 there is none. It
-- returns no row.
select null::uuid
where set_config('lock_timeout', least($1::bigint, nullif(floor(extract(epoch from current_setting('lock_timeout')::interval) * 1000), 0)::bigint)::text, true) is null
