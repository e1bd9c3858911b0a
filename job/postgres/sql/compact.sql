-- Merges the rows of counts by queue and kind, unless another process is doing so.
with gone as (
    delete from meanwhile.counts where (select pg_try_advisory_xact_lock(hashtextextended($1, 0))) returning *
)
insert into meanwhile.counts
select sum(unfinished), sum(completed), sum(canceled), sum(discarded), queue, kind
from gone group by queue, kind
having (sum(unfinished), sum(completed), sum(canceled), sum(discarded)) <> (0, 0, 0, 0)
