drop table meanwhile_override;
alter table meanwhile_queue drop column overrides;
alter table meanwhile_lane drop column served;
