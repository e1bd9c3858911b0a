-- Leaves the command $2 for the worker $1 and returns a row, unless $4 commands no older than $3 are waiting for it.
insert into meanwhile.orders (worker, word)
select $1::text, $2::text
where (select count(*) from meanwhile.orders where worker = $1 and made > now() - $3::interval) < $4::int
returning seq
