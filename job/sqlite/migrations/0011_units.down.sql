alter table meanwhile_lane drop column paid;
alter table meanwhile_queue drop column paid;
