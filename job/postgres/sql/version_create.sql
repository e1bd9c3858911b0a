create table meanwhile.version as select 0 as version, 0 as readable_from
