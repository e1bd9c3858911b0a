-- Returns the queues that may have lanes, each with the kinds of its queued jobs.
local found, place = {}, {}
for i, name in ipairs(call('SMEMBERS', P .. 'laned')) do
  found[i], place[name] = { name }, i
end
for _, class in ipairs(call('SMEMBERS', P .. 'classes')) do
  local s, q, k = string.match(class, '^(.-)\n(.-)\n(.*)$')
  if s == 'queued' and place[q] then table.insert(found[place[q]], k) end
end
return found
