-- Returns the limits of a queue and how much of them is used: the time, the limits as JSON, how many of its jobs are running, the time of its rate,
-- until when it is throttled, the time of its units, and how many keys have limits of their own. Then for each key, from ARGV[2] on: how many are
-- running, the time of its rate, until when it is throttled, the time of its units, its own limits as JSON, its first job if they run in order, and
-- the discarded job that holds it.
local q = openQueue(ARGV[1])
local running = call('HGET', P .. 'n:' .. q.name, '') or '0'
local answer = { int(now), call('HGET', P .. 'q:' .. q.name, 'l') or '', running, int(q.full), int(q.held), int(q.paid), q.limits.overrides }
for i = 2, #ARGV do
  local l = openLane(q, ARGV[i])
  local first, holder
  if inOrder(q, l) then first, holder = firstInOrder(q, l) end
  local own = string.match(call('HGET', P .. 'v:' .. q.name, l.key) or '', '\n(.*)') or ''
  answer[#answer + 1] = { int(l.running), int(l.full), int(l.held), int(l.paid), own, string.sub(first or '', 1, 16), holder or '' }
end
return answer
