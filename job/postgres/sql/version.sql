-- A table of before has no column for it: to_jsonb reads what is there.
select version, coalesce((to_jsonb(v)->>'readable_from')::int, version) from meanwhile.version v
