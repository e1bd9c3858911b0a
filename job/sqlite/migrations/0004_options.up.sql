-- What is said of one job when it is enqueued, as JSON: its timeout and its meta.
alter table meanwhile_job add column options text;
