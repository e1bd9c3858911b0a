-- How many jobs there are by queue, kind and state. Those that run are counted one by one: they are few.
with total as (
    select queue, kind, sum(unfinished) unfinished, sum(completed) completed, sum(canceled) canceled, sum(discarded) discarded
    from meanwhile.counts group by queue, kind
), active as (
    select queue, kind, count(*) n from meanwhile.running group by queue, kind
)
select t.queue, t.kind, c.state, c.n::bigint
from total t left join active a on a.queue = t.queue and a.kind = t.kind
    cross join lateral (values
        ('queued', t.unfinished - coalesce(a.n, 0)), ('running', coalesce(a.n, 0)), ('completed', t.completed),
        ('canceled', t.canceled), ('discarded', t.discarded)
    ) c(state, n)
where c.n > 0
order by t.queue, t.kind, c.state
