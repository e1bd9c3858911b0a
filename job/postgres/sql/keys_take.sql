-- Takes the keys $1 for the jobs $2, and returns the jobs that got their key.
insert into meanwhile.unique_keys (key, id)
select key, id from unnest($1::text[], $2::uuid[]) k(key, id) order by key
on conflict (key) do nothing
returning id
