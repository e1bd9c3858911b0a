-- name: class_add
insert into meanwhile_class (queue, kind) select id, ?2 from meanwhile_queue where name = ?1 on conflict do nothing

-- name: class_find
select c.id, c.queue from meanwhile_class c join meanwhile_queue q on q.id = c.queue where q.name = ?1 and c.kind = ?2

-- name: class_name
select q.name, c.kind, c.queue from meanwhile_class c join meanwhile_queue q on q.id = c.queue where c.id = ?1
