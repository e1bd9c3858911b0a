-- The IDs of the jobs that may have the meta ID $1: all whose JSON has it unescaped.
select id from meanwhile.queued
where left(split_part(split_part(replace(options, '\"', ''), '"jid":"', 2), '"', 1), 200) = $1 and strpos(options, '"jid":"') > 0
union all
select id from meanwhile.running
where left(split_part(split_part(replace(options, '\"', ''), '"jid":"', 2), '"', 1), 200) = $1 and strpos(options, '"jid":"') > 0
union all
select id from meanwhile.finished
where left(split_part(split_part(replace(options, '\"', ''), '"jid":"', 2), '"', 1), 200) = $1 and strpos(options, '"jid":"') > 0
