-- Frees the keys $1 of the jobs $2, now or at $3 if that is later.
with w as materialized (
    select * from unnest($1::text[], $2::uuid[], $3::timestamptz[]) w(key, id, free_at)
), held as (
    update meanwhile.unique_keys k set free_at = w.free_at from w
    where k.key = w.key collate "C" and k.id = w.id and w.free_at > now()
)
delete from meanwhile.unique_keys k using w
where k.key = w.key collate "C" and k.id = w.id and (w.free_at is null or w.free_at <= now())
