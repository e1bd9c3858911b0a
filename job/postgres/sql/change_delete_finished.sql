delete from meanwhile.finished where id = any ($1::uuid[])
