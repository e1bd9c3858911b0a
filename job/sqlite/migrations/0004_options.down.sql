alter table meanwhile_job drop column options;
