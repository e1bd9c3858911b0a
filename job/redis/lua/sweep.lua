-- Removes other outdated data, a few hundred of each. ARGV: how long stats by span, commands, workers, sessions, crons and entries of the audit log
-- are kept; and where to continue among the queues with limits, and among the classes of jobs: "0" at the start, "" at the end. Returns 1 if there
-- may be more of the others, and where to continue.
local most, more = 200, 0
evenFull()
local function old(key, kept, drop)
  local names = call('ZRANGEBYSCORE', P .. key, '-inf', '(' .. int(now - kept), 'LIMIT', 0, most)
  for i = 1, #names do
    if drop(names[i]) ~= false then call('ZREM', P .. key, names[i]) end
  end
  if #names == most then more = 1 end
end
old('uk', -1, function(key)
  local v = call('HGET', P .. 'u', key)
  local keep = v and string.sub(v, 17) or ''
  if keep ~= '' and tonumber(keep) <= now then call('HDEL', P .. 'u', key) end
end)
old('spans', tonumber(ARGV[1]), function(span) call('DEL', P .. 'past:' .. span) end)
old('audited', tonumber(ARGV[6]), function(n) call('ZREMRANGEBYSCORE', P .. 'audit', n, n) end)
old('watches', -1, function(id) call('HDEL', P .. 'trees', id) end)
old('seen', tonumber(ARGV[3]), function(worker)
  call('HDEL', P .. 'workers', worker)
  call('DEL', P .. 'orders:' .. worker)
end)
old('sessions', tonumber(ARGV[4]), function(session)
  call('HDEL', P .. 'from', session)
  if call('ZCARD', P .. 'h:' .. session) == 0 then call('ZREM', P .. 'leases', session) end
end)
old('crons', tonumber(ARGV[5]), function(name) call('DEL', P .. 'cron:' .. name) end)
for _, worker in ipairs(call('ZRANGE', P .. 'seen', 0, most)) do dropOrders(P .. 'orders:' .. worker, tonumber(ARGV[2])) end
-- page returns a few hundred members of a set, and where to continue.
local function page(key, from)
  if from == '' then return {}, '' end
  local found = call('SSCAN', P .. key, from, 'COUNT', most)
  return found[2], found[1] == '0' and '' or found[1]
end

local queues, nextQueues = page('laned', ARGV[7])
for _, name in ipairs(queues) do
  -- If no job has a limit key any more, no claim reads the lanes.
  local q = openQueue(name)
  local key = P .. 'q:' .. name
  if q.limits == none and q.held <= now and call('EXISTS', P .. 'k:' .. name) == 0 then
    if refresh(q) then
      nextQueues = ARGV[7]
      saveQueue(q)
    elseif writeLanes() or call('EXISTS', P .. 'l:' .. name, P .. 't:' .. name, P .. 'w:' .. name) == 0 then
      call('SREM', P .. 'laned', name)
      if not call('HGET', key, 'pa') then call('DEL', key) end
    else
      saveQueue(q)
    end
  end
end
local classes, nextClasses = page('classes', ARGV[8])
-- trim removes items whose jobs no longer wait from the front of the lists of a queue.
local trimmed = {}
local function trim(q)
  trimmed[q] = true
  for p = 1, 9 do
    local key = listKey(q, p)
    local items = call('LRANGE', key, 0, most - 1)
    local ids = idsIn(items)
    local n = 0
    while items[n + 1] and not waiting(q, p, ids[n + 1], items[n + 1]) do n = n + 1 end
    if n > 0 then call('LTRIM', key, n, -1) end
    if n == most then nextClasses = ARGV[8] end
  end
end

for _, class in ipairs(classes) do
  local q = string.match(class, '^.-\n(.-)\n')
  if not trimmed[q] then trim(q) end
  if call('ZCARD', P .. 'c:' .. class) == 0 then call('SREM', P .. 'classes', class) end
end
done()
return { more, nextQueues, nextClasses }
