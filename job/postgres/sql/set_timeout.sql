-- Stops each further statement of the transaction after $1 ms, unless the connection has a shorter timeout (0 is none).
select set_config('statement_timeout', least($1::bigint, nullif(floor(extract(epoch from current_setting('statement_timeout')::interval) * 1000), 0)::bigint)::text, true)
