-- name: audit_add
insert into meanwhile_audit (at, entry) values (?1, ?2)

-- name: audit_bound
delete from meanwhile_audit where n <= (select max(n) from meanwhile_audit) - ?1

-- name: audit_list
select n, at, entry from meanwhile_audit where n < ?1 order by n desc limit ?2

-- name: audit_prune
delete from meanwhile_audit where at < ?1
