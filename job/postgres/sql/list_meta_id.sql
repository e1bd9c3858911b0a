-- The IDs of the jobs whose options have the meta ID $1, in quotes.
select id from meanwhile.queued
where substring(options from '[{,]"jid":("[^"\\]{1,200}")') = $1 and strpos(options, '"jid":"') > 0
union all
select id from meanwhile.running
where substring(options from '[{,]"jid":("[^"\\]{1,200}")') = $1 and strpos(options, '"jid":"') > 0
union all
select id from meanwhile.finished
where substring(options from '[{,]"jid":("[^"\\]{1,200}")') = $1 and strpos(options, '"jid":"') > 0
