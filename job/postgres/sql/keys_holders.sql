-- Returns the holder of each of the keys, in order; zeros for none.
select coalesce(k.id, '00000000-0000-0000-0000-000000000000')
from unnest($1::text[]) with ordinality w(key, n) left join meanwhile.unique_keys k on k.key = w.key collate "C"
order by w.n
