-- Deletes at most $4 finished jobs, oldest first: those that finished longer ago than $1 if completed, $2 if canceled, $3 if discarded; null keeps
-- them.
with old as materialized (
    select id from (
        (select id, finished from meanwhile.finished
         where state = 'completed' and finished < now() - $1::interval order by finished limit $4)
        union all
        (select id, finished from meanwhile.finished
         where state = 'canceled' and finished < now() - $2::interval order by finished limit $4)
        union all
        (select id, finished from meanwhile.finished
         where state = 'discarded' and finished < now() - $3::interval order by finished limit $4)
    ) f order by finished limit $4
), gone as (
    delete from meanwhile.finished where id = any (array(select id from old)) returning id, queue, kind, state
), counted as (
    insert into meanwhile.counts (completed, canceled, discarded, queue, kind)
    select -count(*) filter (where state = 'completed'), -count(*) filter (where state = 'canceled'),
        -count(*) filter (where state = 'discarded'), queue, kind
    from gone group by queue, kind
)
select id from gone
