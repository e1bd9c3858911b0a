-- Inserts jobs as insert_alike.sql does, and notifies the channel $7 of them when it commits. It returns no row.
select null::uuid from meanwhile.insert_alike($1, $2, $3, $4, $5, $6) i where i is null or pg_notify($7, $3) is null
