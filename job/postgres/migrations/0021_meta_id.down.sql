drop index meanwhile.queued_meta_id, meanwhile.running_meta_id, meanwhile.finished_meta_id;
create index queued_meta_id on meanwhile.queued (substring(options from '[{,]"jid":("[^"\\]{1,200}")'))
where strpos(options, '"jid":"') > 0;
create index running_meta_id on meanwhile.running (substring(options from '[{,]"jid":("[^"\\]{1,200}")'))
where strpos(options, '"jid":"') > 0;
create index finished_meta_id on meanwhile.finished (substring(options from '[{,]"jid":("[^"\\]{1,200}")'))
where strpos(options, '"jid":"') > 0;
