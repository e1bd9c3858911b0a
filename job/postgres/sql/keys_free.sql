-- Deletes those of the keys whose finished job has held them long enough.
delete from meanwhile.unique_keys where key = any (array(
    select key from meanwhile.unique_keys where key = any ($1::text[]) and free_at <= now() order by key for update
))
