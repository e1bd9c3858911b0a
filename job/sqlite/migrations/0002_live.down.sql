drop table meanwhile_stat;
drop table meanwhile_order;
drop table meanwhile_watch;
