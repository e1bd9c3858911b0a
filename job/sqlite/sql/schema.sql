-- name: schema_cookie
pragma schema_version

-- name: schema_exists
select 1 from sqlite_schema where type = 'table' and name = 'meanwhile_schema'

-- name: schema_version
select version, readable_from from meanwhile_schema

-- name: schema_create
create table meanwhile_schema (version integer not null, readable_from integer not null)

-- name: schema_insert
insert into meanwhile_schema values (0, 0)

-- name: schema_set
update meanwhile_schema set version = ?1, readable_from = ?2

-- name: schema_drop
drop table meanwhile_schema
