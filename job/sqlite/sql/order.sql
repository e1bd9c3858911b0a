-- name: order_room
-- How many commands wait for the worker ?1; no row if there is no such worker.
select (select count(*) from meanwhile_order o where o.worker = w.name and made > ?2) from meanwhile_worker w where w.name = ?1

-- name: order_put
insert into meanwhile_order (worker, made, word) values (?1, ?2, ?3)

-- name: order_drop
delete from meanwhile_order where worker = ?1

-- name: order_prune
delete from meanwhile_order where made <= ?1
