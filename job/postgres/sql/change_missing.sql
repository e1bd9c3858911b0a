-- Returns those of the jobs $1 that exist.
select id from meanwhile.queued where id = any ($1::uuid[])
union all
select id from meanwhile.running where id = any ($1::uuid[])
union all
select id from meanwhile.finished where id = any ($1::uuid[])
