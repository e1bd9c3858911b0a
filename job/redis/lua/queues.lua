-- Returns the queues that have unfinished jobs or are paused: name, "1" if it is paused, how many jobs are queued, how many are running, and the
-- earliest time at which a job was due, 0 for none.
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
  local q, wait = queues[name], 0
  local function see(key)
    local e = call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if e[1] then wait = math.max(wait, now - tonumber(e[2])) end
  end
  if q.queued > 0 then
    for p = 1, 9 do
      see(readyKey(name, '', p))
      local items = call('LRANGE', listKey(name, p), 0, 99)
      local ids = idsIn(items)
      for n = 1, #items do
        local j = waiting(name, p, ids[n], items[n])
        if j then
          wait = math.max(wait, now - j.r)
          break
        end
      end
    end
    see(P .. 'k:' .. name)
  end
  rows[i] = { name, q.paused or '', q.queued, q.running, int(wait) }
end
return rows
