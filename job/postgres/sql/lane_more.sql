-- What is kept of the units and of the turns of the lanes $2 of the queue $1, and the limits of their keys alone.
select w.key, l.paid, coalesce(l.served, 0), o.limits
from unnest($2::text[]) w(key)
    left join lateral (select l.paid, l.served from meanwhile.lanes l where l.queue = $1 and l.key = w.key collate "C" limit 1) l on true
    left join lateral (select o.limits from meanwhile.overrides o where o.queue = $1 and o.key = w.key collate "C" limit 1) o on true
