drop function meanwhile.list_finished(text[], text[], text[], uuid, uuid, int, text, timestamptz, text[], text);
drop index meanwhile.finished_class;
create index finished_class on meanwhile.finished (queue, kind, id);
