-- Notifies the channel $1 of due jobs in the queues $2. The commit need not wait for the disk.
select null::uuid
from (select set_config('synchronous_commit', 'off', true) s) c cross join unnest($2::text[]) q
where c.s is not null and pg_notify($1, q) is null
