-- Locks the keys $1, so that their holders do not change until the next statement, and returns the holders in order; zeros for none.
with locked as materialized (
    select key, id from meanwhile.unique_keys where key = any ($1::text[]) order by key for update
)
select coalesce(l.id, '00000000-0000-0000-0000-000000000000')
from unnest($1::text[]) with ordinality w(key, n) left join locked l on l.key = w.key collate "C"
order by w.n
