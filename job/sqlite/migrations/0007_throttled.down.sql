alter table meanwhile_lane drop column held;
alter table meanwhile_queue drop column held;
