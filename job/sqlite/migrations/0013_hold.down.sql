drop trigger meanwhile_job_release_delete;
drop trigger meanwhile_job_release_update;
drop trigger meanwhile_job_hold;
drop table meanwhile_holder;
update meanwhile_lane set wake = 0;
