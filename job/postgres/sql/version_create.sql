create table meanwhile.version as select 0 as version
