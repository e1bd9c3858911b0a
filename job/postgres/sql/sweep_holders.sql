-- Deletes holders of the lanes $2 of the queue $1 that are not discarded jobs, and returns these lanes.
delete from meanwhile.holders h where h.queue = $1 and h.key = any ($2::text[])
    and not exists (select from meanwhile.finished f where f.id = h.id and f.state = 'discarded')
returning h.key
