drop table meanwhile.overrides;
alter table meanwhile.queues drop column overrides;
alter table meanwhile.lanes drop column served;
