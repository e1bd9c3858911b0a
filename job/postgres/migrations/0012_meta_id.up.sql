-- readable from 9
-- By the ID that another system knows a job by, which few have. It is not read as JSON: what else the options say may be what json does
-- not take.
create index queued_meta_id on meanwhile.queued (substring(options from '[{,]"jid":("[^"\\]{1,200}")'))
where strpos(options, '"jid":"') > 0;
create index running_meta_id on meanwhile.running (substring(options from '[{,]"jid":("[^"\\]{1,200}")'))
where strpos(options, '"jid":"') > 0;
create index finished_meta_id on meanwhile.finished (substring(options from '[{,]"jid":("[^"\\]{1,200}")'))
where strpos(options, '"jid":"') > 0;
