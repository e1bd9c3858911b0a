update meanwhile.running r set cancel_requested = c.cancel
from unnest($1::uuid[], $2::boolean[]) c(id, cancel) where r.id = c.id
