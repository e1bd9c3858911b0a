-- name: prune_find
select seq, finished from meanwhile_job where state >= 2 and state = ?1 and finished < ?2 order by finished limit ?3

-- name: prune_delete
delete from meanwhile_job where seq in ({?}) returning class, state
