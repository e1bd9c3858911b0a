-- Leaves the order $2 for the worker $1, and returns a row, unless $4 wait for it already that are not older than $3.
insert into meanwhile.orders (worker, word)
select $1::text, $2::text
where (select count(*) from meanwhile.orders where worker = $1 and made > now() - $3::interval) < $4::int
returning seq
