-- Of the lanes $2 of the queue $1 whether they are kept, when they are looked at again, and whether they have changed since they were written.
select k.key, l.key is not null, l.wake,
    k.key in (select t.key from meanwhile.touched t where t.queue = $1 union all select unnest(n.keys) from meanwhile.noted n where n.queue = $1)
from unnest($2::text[]) k(key) left join meanwhile.lanes l on l.queue = $1 and l.key = k.key collate "C"
