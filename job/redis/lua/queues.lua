-- Returns the queues that have unfinished jobs or are paused: name, "1" if it is paused, how many jobs are queued, and how many are running.
local queues, order = {}, {}
local function queue(name)
  if not queues[name] then
    queues[name] = { queued = 0, running = 0 }
    order[#order + 1] = name
  end
  return queues[name]
end
for _, class in ipairs(call('SMEMBERS', P .. 'classes')) do
  local s, name = string.match(class, '^(.-)\n(.-)\n')
  if s == 'queued' or s == 'running' then
    local n = call('ZCARD', P .. 'c:' .. class)
    if n > 0 then
      local q = queue(name)
      q[s] = q[s] + n
    end
  end
end
for _, name in ipairs(call('SMEMBERS', P .. 'paused')) do queue(name).paused = '1' end
local rows = {}
for i, name in ipairs(order) do
  local q = queues[name]
  rows[i] = { name, q.paused or '', q.queued, q.running }
end
return rows
