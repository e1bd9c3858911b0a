-- Returns the limits of a queue and how far they are used: the time, the limits as JSON, how many of its jobs run, the time of its rate, until when
-- it is held; and of the key ARGV[2] how many run, the time of its rate, until when it is held, and its first job where they run in order; the times of the units of both; how many keys have limits of their own, and those of this one as JSON; and
-- the discarded job that holds the key.
local q = openQueue(ARGV[1])
local l = openLane(q, ARGV[2])
local first, holder
if inOrder(q, l) then first, holder = firstInOrder(q, l) end
local running = call('HGET', P .. 'n:' .. q.name, '') or '0'
return { int(now), call('HGET', P .. 'q:' .. q.name, 'l') or '', running, int(q.full), int(q.held), int(l.running), int(l.full), int(l.held), string.sub(first or '', 1, 16), int(q.paid), int(l.paid), q.limits.overrides, string.match(call('HGET', P .. 'v:' .. q.name, l.key) or '', '\n(.*)') or '', holder or '' }
