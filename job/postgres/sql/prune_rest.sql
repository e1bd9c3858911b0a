-- Deletes workers not seen since $1, sessions that ended before $6, crons not noted since $2, watches that are over, commands not fetched since $4,
-- stats by span that are older than $5, entries of the audit log older than $7, and at most $3 free unique keys.
with w as (
    delete from meanwhile.workers where seen < now() - $1::interval
), l as (
    delete from meanwhile.sessions where lease_until < now() - $6::interval
), c as (
    delete from meanwhile.crons where noted < now() - $2::interval
), v as (
    delete from meanwhile.watches where until <= now()
), o as (
    delete from meanwhile.orders where made <= now() - $4::interval
), s as (
    delete from meanwhile.past where began < now() - $5::interval
), a as (
    delete from meanwhile.audit where at < now() - $7::interval
)
delete from meanwhile.unique_keys where key = any (array(
    select key from meanwhile.unique_keys where free_at <= now() order by free_at limit $3 for update skip locked
))
