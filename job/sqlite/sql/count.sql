-- name: count_add
insert into meanwhile_count (class, state, n) values (?1, ?2, ?3) on conflict do update set n = n + excluded.n

-- name: counts
select q.name, c.kind, n.state, n.n
from meanwhile_count n join meanwhile_class c on c.id = n.class join meanwhile_queue q on q.id = c.queue
where n.n <> 0
order by q.name, c.kind, n.state
