-- readable from 9
-- The ID that another system knows a job by was found by a regular expression, which cost tens of microseconds for each of a job's three rows. Here it
-- is what follows the key jid, up to the next quotation mark, those that belong to a text being left out before: so no text has a key in it. Of two
-- IDs that have 200 characters in common, or differ in what is left out, the index finds both.
drop index meanwhile.queued_meta_id, meanwhile.running_meta_id, meanwhile.finished_meta_id;
create index queued_meta_id on meanwhile.queued (left(split_part(split_part(replace(options, '\"', ''), '"jid":"', 2), '"', 1), 200))
where strpos(options, '"jid":"') > 0;
create index running_meta_id on meanwhile.running (left(split_part(split_part(replace(options, '\"', ''), '"jid":"', 2), '"', 1), 200))
where strpos(options, '"jid":"') > 0;
create index finished_meta_id on meanwhile.finished (left(split_part(split_part(replace(options, '\"', ''), '"jid":"', 2), '"', 1), 200))
where strpos(options, '"jid":"') > 0;
