delete from meanwhile.queued where id = any ($1::uuid[])
