-- The table of an older version has no column readable_from: to_jsonb reads what is there.
select version, coalesce((to_jsonb(v)->>'readable_from')::int, version) from meanwhile.version v
