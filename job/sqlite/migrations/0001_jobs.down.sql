drop table meanwhile_cron;
drop table meanwhile_worker;
drop table meanwhile_count;
drop table meanwhile_key;
drop table meanwhile_job;
drop table meanwhile_class;
drop table meanwhile_queue;
