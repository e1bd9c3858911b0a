alter table meanwhile.version add column if not exists readable_from integer
