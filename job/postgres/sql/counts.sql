-- How many jobs there are by queue, kind and state. Running jobs are counted one by one, since they are few.
with total as (
    select queue, kind, sum(unfinished) unfinished, sum(completed) completed, sum(canceled) canceled, sum(discarded) discarded
    from meanwhile.counts group by queue, kind
)
select t.queue, t.kind, c.state, c.n::bigint
from total t left join meanwhile.running_counts() a on a.queue = t.queue collate "C" and a.kind = t.kind collate "C"
    cross join lateral (values
        ('queued', t.unfinished - coalesce(a.n, 0)), ('running', coalesce(a.n, 0)), ('completed', t.completed),
        ('canceled', t.canceled), ('discarded', t.discarded)
    ) c(state, n)
where c.n > 0
order by t.queue, t.kind, c.state
