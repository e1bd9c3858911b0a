-- Gives the key $1, which is locked, to the job $2, unless its holder is in one of the states $3. It returns the job if it did.
update meanwhile.unique_keys k set id = $2::uuid, free_at = null
where k.key = $1
    and not ('queued' = any ($3::text[]) and exists (select from meanwhile.queued q where q.id = k.id))
    and not ('running' = any ($3) and exists (select from meanwhile.running r where r.id = k.id))
    and not exists (select from meanwhile.finished f where f.id = k.id and f.state = any ($3))
returning k.id
