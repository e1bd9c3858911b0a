-- Locks the key $1, so that its holder is known to the next statement as it is then.
select id from meanwhile.unique_keys where key = $1 for update
