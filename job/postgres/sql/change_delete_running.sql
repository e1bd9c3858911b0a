delete from meanwhile.running where id = any ($1::uuid[])
