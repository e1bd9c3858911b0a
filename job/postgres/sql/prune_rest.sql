-- Deletes workers not seen since $1, crons not noted since $2, and at most $3 keys that are free.
with w as (
    delete from meanwhile.workers where seen < now() - $1::interval
), c as (
    delete from meanwhile.crons where noted < now() - $2::interval
)
delete from meanwhile.keys where key = any (array(
    select key from meanwhile.keys where free_at <= now() order by free_at limit $3 for update skip locked
))
