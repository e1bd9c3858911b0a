-- Deletes workers not seen since $1, crons not noted since $2, watches that are over, orders not fetched since $4, stats older
-- than $5, and at most $3 keys that are free.
with w as (
    delete from meanwhile.workers where seen < now() - $1::interval
), c as (
    delete from meanwhile.crons where noted < now() - $2::interval
), v as (
    delete from meanwhile.watches where until <= now()
), o as (
    delete from meanwhile.orders where made <= now() - $4::interval
), s as (
    delete from meanwhile.stats where minute < now() - $5::interval
)
delete from meanwhile.unique_keys where key = any (array(
    select key from meanwhile.unique_keys where free_at <= now() order by free_at limit $3 for update skip locked
))
