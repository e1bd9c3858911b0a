-- What the scripts share: this text stands before each of them. KEYS[1] is the prefix of all keys, "{name}:". keys.md says what each
-- key holds. Nothing is written before a script has found that it can do all that it was asked for.

local P = KEYS[1]
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- int writes a whole number, which may be a time in microseconds.
local function int(n) return string.format('%.0f', n) end

-- evenFull makes the writes that follow go through when the server is out of memory: after a first command that
-- frees memory Redis lets a script finish.
local function evenFull() call('DEL', P .. 'none') end

local function jobKey(id) return P .. 'j:' .. id end
local function argsKey(id) return P .. 'a:' .. id end
local function readyKey(q, l, p) return P .. 'r:' .. p .. ':' .. q .. '\n' .. l end
local function orderKey(q, l) return P .. 'o:' .. q .. '\n' .. l end
local function className(s, q, k) return s .. '\n' .. q .. '\n' .. k end
local function classKey(s, q, k) return P .. 'c:' .. className(s, q, k) end

-- load returns what decides about a job, nil where there is none.
local function load(id)
  local v = call('HMGET', jobKey(id), 's', 'q', 'k', 'p', 'l', 'r', 'c', 'se', 'x', 'n', 'xp', 'u', 'uf', 'mi')
  if not v[1] then return nil end
  return {
    id = id, s = v[1], q = v[2], k = v[3], p = v[4], l = v[5] or '', r = v[6], c = v[7], se = v[8], x = v[9], n = tonumber(v[10]),
    xp = v[11], u = v[12], uf = v[13], mi = v[14],
  }
end

-- limitsOf returns the limits of a queue, nil for none. Times are in microseconds.
local limitsCache = {}
local function limitsOf(q)
  local l = limitsCache[q]
  if l == nil then
    local x, v = call('HGET', P .. 'q:' .. q, 'x'), {}
    l = false
    if x then
      for n in string.gmatch(x, '%d+') do v[#v + 1] = tonumber(n) end
      l = {
        running = v[1], starts = { n = v[2], per = v[3], burst = v[4] },
        keyRunning = v[5], keyStarts = { n = v[6], per = v[7], burst = v[8] }, inOrder = v[9] == 1,
        units = { n = v[10] or 0, per = v[11], burst = v[12] }, keyUnits = { n = v[13] or 0, per = v[14], burst = v[15] },
      }
    end
    limitsCache[q] = l
  end
  return l or nil
end

-- What is written once at the end of a script: see done.
local runs, touched, woken, classes = {}, {}, {}, {}

-- count notes that more jobs of a lane run, or fewer.
local function count(q, l, d)
  local r = runs[q] or {}
  runs[q] = r
  r[''] = (r[''] or 0) + d
  if l ~= '' then r[l] = (r[l] or 0) + d end
end

-- touch marks a lane, so that the next claim finds out whether it may start a job. Those that may get in line as they were marked.
local function touch(q, l)
  if l == '' then return end
  local t = touched[q] or { names = {}, known = {} }
  touched[q] = t
  if not t.known[l] then
    t.known[l] = true
    t.names[#t.names + 1] = l
  end
end

local function wake(q) woken[q] = true end

local function writeRuns()
  for q, lanes in pairs(runs) do
    for l, d in pairs(lanes) do
      if d ~= 0 and call('HINCRBY', P .. 'n:' .. q, l, d) <= 0 then call('HDEL', P .. 'n:' .. q, l) end
    end
  end
  runs = {}
end

-- done writes what has gathered. Each script that changes jobs ends with it.
local function done()
  writeRuns()
  for q, lanes in pairs(touched) do
    local last = call('HINCRBY', P .. 'q:' .. q, 'tc', #lanes.names)
    for i, l in ipairs(lanes.names) do call('ZADD', P .. 't:' .. q, 'NX', last - #lanes.names + i, l) end
    call('SADD', P .. 'laned', q)
  end
  for c in pairs(classes) do call('SADD', P .. 'classes', c) end
  for q in pairs(woken) do call('PUBLISH', P .. 'wake', q) end
end

-- link puts a job, as it is now, where it is to be found.
local function link(j)
  if j.s == 'queued' then
    local m = j.id .. j.k
    call('ZADD', readyKey(j.q, j.l, j.p), j.r, m)
    if j.l ~= '' then
      call('ZADD', orderKey(j.q, j.l), j.c, m)
      call('ZADD', P .. 'k:' .. j.q, j.r, j.id)
      touch(j.q, j.l)
    end
  elseif j.s == 'running' then
    call('ZADD', P .. 'h:' .. j.se, j.ca, j.id)
    count(j.q, j.l, 1)
    touch(j.q, j.l)
  else
    call('ZADD', P .. 'f:' .. j.s, j.f, j.id)
  end
  classes[className(j.s, j.q, j.k)] = true
  call('ZADD', classKey(j.s, j.q, j.k), 0, j.id)
end

-- unlink is called before a job changes.
local function unlink(j)
  if j.s == 'queued' then
    local m = j.id .. j.k
    call('ZREM', readyKey(j.q, j.l, j.p), m)
    if j.l ~= '' then
      call('ZREM', orderKey(j.q, j.l), m)
      call('ZREM', P .. 'k:' .. j.q, j.id)
      touch(j.q, j.l)
      local limits = limitsOf(j.q)
      if limits and limits.inOrder then wake(j.q) end
    end
  elseif j.s == 'running' then
    call('ZREM', P .. 'h:' .. j.se, j.id)
    if j.x then call('SREM', P .. 'x:' .. j.se, j.id) end
    if j.xp then
      call('ZREM', P .. 'e:' .. j.p .. ':' .. j.q, j.id .. j.k)
      call('HDEL', jobKey(j.id), 'xp')
    end
    count(j.q, j.l, -1)
    touch(j.q, j.l)
    if limitsOf(j.q) then wake(j.q) end
  else
    call('ZREM', P .. 'f:' .. j.s, j.id)
  end
  call('ZREM', classKey(j.s, j.q, j.k), j.id)
end

-- set writes fields of a job; an empty one is removed.
local function set(id, ...)
  local given, full, empty = { ... }, {}, {}
  for i = 1, #given, 2 do
    if given[i + 1] == '' then
      empty[#empty + 1] = given[i]
    else
      full[#full + 1] = given[i]
      full[#full + 1] = given[i + 1]
    end
  end
  if #full > 0 then call('HSET', jobKey(id), unpack(full)) end
  if #empty > 0 then call('HDEL', jobKey(id), unpack(empty)) end
end

-- A unique key is held by a job, whose ID is followed by the time until which it is, if that has finished.
local function holder(key)
  local v = call('HGET', P .. 'u', key)
  if not v then return nil end
  local keep = string.sub(v, 17)
  if keep ~= '' and tonumber(keep) <= now then return nil end
  return string.sub(v, 1, 16)
end

local function hold(key, id) call('HSET', P .. 'u', key, id) end

-- letGo is called for a job that has finished: its key is free, now or when the time for which it is unique is over.
local function letGo(j)
  if not j.u or holder(j.u) ~= j.id then return end
  local keep = j.c + (j.uf or 0)
  if keep > now then
    call('HSET', P .. 'u', j.u, j.id .. int(keep))
    call('ZADD', P .. 'uk', int(keep), j.u)
  else
    call('HDEL', P .. 'u', j.u)
  end
end

-- finish moves an unlinked job to its final state.
local function finish(j, state)
  j.s, j.f, j.x = state, int(now), nil
  set(j.id, 's', state, 'f', j.f, 'x', '', 'se', '', 'ca', '')
  letGo(j)
  link(j)
end

-- due returns when a job is due: at a time that is given, or after a delay.
local function due(at, delay)
  if at ~= '' then return at end
  return int(now + delay)
end

-- remove deletes an unlinked job.
local function remove(j)
  call('DEL', jobKey(j.id), argsKey(j.id))
  if j.mi then call('ZREM', P .. 'm:' .. j.mi, j.id) end
end

local function has(list, value)
  for i = 1, #list do
    if list[i] == value then return true end
  end
  return false
end

-- whole returns a job as the caller reads it: its ID, then its fields.
local function whole(id)
  local v = call('HGETALL', jobKey(id))
  v[#v + 1] = 'id'
  v[#v + 1] = id
  v[#v + 1] = 'a'
  v[#v + 1] = call('GET', argsKey(id))
  return v
end
