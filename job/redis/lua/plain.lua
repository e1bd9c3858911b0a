-- Inserts plain jobs, all or none: jobs that are due at once, with their args in the value, and without a unique key, a limit key or a meta ID. Most
-- jobs are plain, and this costs a fraction of insert.lua, which takes all others. ARGV: runs of jobs that differ only in ID and args, each one
-- argument, which is unpacked to: queue, kind, priority, the beginning of the second part of the value, its end with the third part up to the args,
-- the IDs one after the other, then the args of each as they are in the value.
local runs, ids = {}, {}
for i = 1, #ARGV do
  local run = cmsgpack.unpack(ARGV[i])
  runs[i] = run
  for at = 1, #run[6], 16 do ids[#ids + 1] = string.sub(run[6], at, at + 15) end
end

-- The parts of at most this many jobs are passed to one command.
local most = 500
for from = 1, #ids, most do
  local there = call('HMGET', J, unpack(ids, from, math.min(from + most - 1, #ids)))
  for i = 1, #there do
    if there[i] then return { 'there', ids[from + i - 1] } end
  end
end

-- The items that are gathered for each key, and the queues whose workers have to be woken.
local lists, sets, classes, woken = {}, {}, {}, {}
local function of(keys, key)
  local list = keys[key]
  if not list then
    list = {}
    keys[key] = list
  end
  return list
end

local function hasLimits(q)
  local v = call('HMGET', P .. 'q:' .. q, 'x', 'ov')
  return v[1] or tonumber(v[2] or 0) > 0
end

local hot, times, dueNow = cmsgpack.pack('q', 0, 0, '', 0, 0, 0, '', ''), cmsgpack.pack(now, now), struct.pack('>d', now)
local values, n = {}, 0
for i = 1, #runs do
  local run = runs[i]
  local q, k, p = run[1], run[2], run[3]
  if woken[q] == nil then woken[q] = hasLimits(q) and 'limits' or 'none' end
  local head, class = hot .. run[4] .. times .. run[5], className('queued', q, k)
  local limited = woken[q] == 'limits'
  local waiting, listed = of(limited and sets or lists, limited and readyKey(q, '', p) or listKey(q, p)), of(classes, class)
  for m = 7, #run do
    n = n + 1
    local id = ids[n]
    values[2 * n - 1], values[2 * n] = id, head .. run[m]
    listed[#listed + 1] = '0'
    listed[#listed + 1] = id
    if limited then
      waiting[#waiting + 1] = nowText
      waiting[#waiting + 1] = id .. k
    else
      waiting[#waiting + 1] = id .. dueNow
    end
  end
end

local function write(name, key, args, each)
  for from = 1, #args, most * each do call(name, key, unpack(args, from, math.min(from + most * each - 1, #args))) end
end
write('HSET', J, values, 2)
for key, items in pairs(lists) do
  for i = 2, #items do
    if idLess(items[i], items[i - 1]) then
      table.sort(items, idLess)
      break
    end
  end
  write('RPUSH', key, items, 1)
end
for key, members in pairs(sets) do write('ZADD', key, members, 2) end
for class, members in pairs(classes) do
  write('ZADD', P .. 'c:' .. class, members, 2)
  call('SADD', P .. 'classes', class)
end
for q in pairs(woken) do call('PUBLISH', P .. 'wake', q) end
return { 'ok' }
