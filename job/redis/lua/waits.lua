-- Returns, for each of the queues ARGV, how long the job has been due that has been due longest, in microseconds; 0 if no job is
-- due.
local waits = {}
for i, name in ipairs(ARGV) do
  local wait = 0
  local function see(key)
    local e = call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if e[1] then wait = math.max(wait, now - tonumber(e[2])) end
  end
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
  waits[i] = int(wait)
end
return waits
