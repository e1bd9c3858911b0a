drop table meanwhile_past;
drop table meanwhile_audit;
