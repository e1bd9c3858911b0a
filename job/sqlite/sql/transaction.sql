-- name: begin
begin immediate

-- name: commit
commit

-- name: rollback
rollback

-- name: savepoint
savepoint meanwhile

-- name: release
release meanwhile

-- name: undo
rollback to meanwhile

-- name: sync_full
pragma synchronous = full

-- name: sync_normal
pragma synchronous = normal

-- name: data_version
pragma data_version

-- name: known_pragma
select count(*) from pragma_pragma_list where name = lower(?)

-- name: use_wal
pragma journal_mode = wal

-- name: shrink_log
pragma wal_checkpoint(truncate)
