-- Gives the keys $1 of finished jobs $2 that are queued again back to them, if they hold them still.
update meanwhile.unique_keys k set free_at = null
from unnest($1::text[], $2::uuid[]) w(key, id) where k.key = w.key collate "C" and k.id = w.id
