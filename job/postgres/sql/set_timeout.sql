-- Stops each further statement of the transaction after $1 ms, if the time set for the connection is not shorter; 0 there is none.
select set_config('statement_timeout', least($1::bigint, nullif(floor(extract(epoch from current_setting('statement_timeout')::interval) * 1000), 0)::bigint)::text, true)
