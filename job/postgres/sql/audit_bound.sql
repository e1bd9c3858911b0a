delete from meanwhile.audit where n <= (select max(n) from meanwhile.audit) - $1::bigint
