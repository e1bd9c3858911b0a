insert into documents (id, version, source) values (?1, 1, ?2)
on conflict (id) do update set version = version + 1, source = excluded.source where ?3
returning n, version
