-- What the scripts share: this text stands before each of them. KEYS[1] is the prefix of all keys, "{name}:". keys.md says what each
-- key holds. Nothing is written before a script has found that it can do all that it was asked for.

local P = KEYS[1]
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- int writes a whole number, which may be a time in microseconds.
local function int(n) return string.format('%.0f', n) end
local nowText = int(now)

-- evenFull makes the writes that follow go through when the server is out of memory: after a first command that
-- frees memory Redis lets a script finish.
local function evenFull() call('DEL', P .. 'none') end

local function jobKey(id) return P .. 'j:' .. id end
local function argsKey(id) return P .. 'a:' .. id end
local function readyKey(q, l, p) return P .. 'r:' .. p .. ':' .. q .. '\n' .. l end
local function orderKey(q, l) return P .. 'o:' .. q .. '\n' .. l end
local function holdKey(epoch, q, l) return P .. 'd:' .. epoch .. ':' .. q .. '\n' .. l end
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

local function numbers(text)
  local v = {}
  for n in string.gmatch(text, '%d+') do v[#v + 1] = tonumber(n) end
  return v
end

local function rateOf(v, i) return { n = v[i] or 0, per = v[i + 1], burst = v[i + 2] } end
local function weight(n) return math.max(n or 1, 1) end

-- limitsFrom reads limits of a queue that are kept as numbers, and how many keys have limits of their own.
local function limitsFrom(x, overrides)
  local v = numbers(x)
  return {
    running = v[1] or 0, starts = rateOf(v, 2), units = rateOf(v, 10), inOrder = v[9] == 1, hold = v[17] == 1, overrides = overrides,
    eachKey = { running = v[5] or 0, starts = rateOf(v, 6), units = rateOf(v, 13), weight = weight(v[16]) },
  }
end

-- keyLimits reads limits of one key that are kept as numbers.
local function keyLimits(x)
  local v = numbers(x)
  return { running = v[1], starts = rateOf(v, 2), units = rateOf(v, 5), weight = weight(v[8]) }
end

-- limitsOf returns the limits of a queue, nil where neither it nor one of its keys has any. Times are in microseconds.
local limitsCache = {}
local function limitsOf(q)
  local l = limitsCache[q]
  if l == nil then
    local v = call('HMGET', P .. 'q:' .. q, 'x', 'ov')
    local overrides = tonumber(v[2] or 0)
    l = (v[1] or overrides > 0) and limitsFrom(v[1] or '', overrides) or false
    limitsCache[q] = l
  end
  return l or nil
end

-- What is written once at the end of a script: see done.
local runs, touched, woken, classes, members = {}, {}, {}, {}, {}

-- put notes that a member belongs in a sorted set, with a score; where that is false, that it does not. So a script that changes many jobs
-- writes each set once: a command for each job would cost more than what it does. Where there is one job, noting costs more: then single is true.
local single = false
local function put(key, score, member)
  if single then
    if score then call('ZADD', key, score, member) else call('ZREM', key, member) end
    return
  end
  local of = members[key]
  if not of then
    of = {}
    members[key] = of
  end
  of[member] = score
end

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

local function writeMembers()
  for key, of in pairs(members) do
    local adds, drops = {}, {}
    for member, score in pairs(of) do
      if score then
        adds[#adds + 1] = score
        adds[#adds + 1] = member
      else
        drops[#drops + 1] = member
      end
      if #adds >= 1000 then
        call('ZADD', key, unpack(adds))
        adds = {}
      end
      if #drops >= 1000 then
        call('ZREM', key, unpack(drops))
        drops = {}
      end
    end
    if #adds > 0 then call('ZADD', key, unpack(adds)) end
    if #drops > 0 then call('ZREM', key, unpack(drops)) end
  end
end

-- done writes what has gathered. Each script that changes jobs ends with it.
local function done()
  writeRuns()
  writeMembers()
  for q, lanes in pairs(touched) do
    local last = call('HINCRBY', P .. 'q:' .. q, 'tc', #lanes.names)
    for i, l in ipairs(lanes.names) do call('ZADD', P .. 't:' .. q, 'NX', last - #lanes.names + i, l) end
    call('SADD', P .. 'laned', q)
  end
  for c in pairs(classes) do call('SADD', P .. 'classes', c) end
  for q in pairs(woken) do call('PUBLISH', P .. 'wake', q) end
end

-- holdLane notes a job that was discarded, where those behind it in its lane wait for it.
local function holdLane(j)
  local limits = limitsOf(j.q)
  if j.l == '' or not limits or not limits.hold then return end
  local epoch = call('HGET', P .. 'q:' .. j.q, 'hd')
  put(holdKey(epoch, j.q, j.l), j.c, j.id)
  call('HSET', jobKey(j.id), 'ho', epoch)
end

-- releaseLane is called when a discarded job is no longer so.
local function releaseLane(j)
  local epoch = j.l ~= '' and call('HGET', jobKey(j.id), 'ho')
  if not epoch then return end
  put(holdKey(epoch, j.q, j.l), false, j.id)
  call('HDEL', jobKey(j.id), 'ho')
  touch(j.q, j.l)
  wake(j.q)
end

-- link puts a job, as it is now, where it is to be found.
local function link(j)
  if j.s == 'queued' then
    local m = j.id .. j.k
    put(readyKey(j.q, j.l, j.p), j.r, m)
    if j.l ~= '' then
      put(orderKey(j.q, j.l), j.c, m)
      put(P .. 'k:' .. j.q, j.r, j.id)
      touch(j.q, j.l)
    end
  elseif j.s == 'running' then
    put(P .. 'h:' .. j.se, j.ca, j.id)
    count(j.q, j.l, 1)
    touch(j.q, j.l)
  else
    put(P .. 'f:' .. j.s, j.f, j.id)
    if j.s == 'discarded' then holdLane(j) end
  end
  local class = className(j.s, j.q, j.k)
  classes[class] = true
  put(P .. 'c:' .. class, 0, j.id)
end

-- unlink is called before a job changes.
local function unlink(j)
  if j.s == 'queued' then
    local m = j.id .. j.k
    put(readyKey(j.q, j.l, j.p), false, m)
    if j.l ~= '' then
      put(orderKey(j.q, j.l), false, m)
      put(P .. 'k:' .. j.q, false, j.id)
      touch(j.q, j.l)
      local limits = limitsOf(j.q)
      if limits and limits.inOrder then wake(j.q) end
    end
  elseif j.s == 'running' then
    put(P .. 'h:' .. j.se, false, j.id)
    if j.x then call('SREM', P .. 'x:' .. j.se, j.id) end
    if j.xp then
      call('ZREM', P .. 'e:' .. j.p .. ':' .. j.q, j.id .. j.k)
      call('HDEL', jobKey(j.id), 'xp')
    end
    count(j.q, j.l, -1)
    touch(j.q, j.l)
    if limitsOf(j.q) then wake(j.q) end
  else
    put(P .. 'f:' .. j.s, false, j.id)
    if j.s == 'discarded' then releaseLane(j) end
  end
  put(classKey(j.s, j.q, j.k), false, j.id)
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

-- finish moves an unlinked job to its final state, and writes other fields with it.
local function finish(j, state, ...)
  if j.x then call('HDEL', jobKey(j.id), 'x') end
  j.s, j.f, j.x = state, nowText, nil
  call('HSET', jobKey(j.id), 's', state, 'f', j.f, ...)
  letGo(j)
  link(j)
end

-- due returns when a job is due: at a time that is given, or after a delay.
local function due(at, delay)
  if at ~= '' then return at end
  if delay == '0' then return nowText end
  return int(now + delay)
end

-- remove deletes an unlinked job.
local function remove(j)
  call('DEL', jobKey(j.id), argsKey(j.id))
  if j.mi then call('ZREM', P .. 'm:' .. j.mi, j.id) end
end

-- Args of up to mostInside bytes are kept inside of the job's hash, in fields of partSize bytes: a longer value would have Redis keep the whole hash in a
-- way that takes much more memory, and a key of their own takes more as well.
local mostInside, partSize = 256, 64

-- addArgs adds the fields and values of args that are kept inside.
local function addArgs(list, args)
  local n = 0
  repeat
    list[#list + 1] = 'a' .. n
    list[#list + 1] = string.sub(args, n * partSize + 1, (n + 1) * partSize)
    n = n + 1
  until n * partSize >= #args
end

-- setArgs replaces the args of a job.
local function setArgs(id, args)
  call('HDEL', jobKey(id), 'a0', 'a1', 'a2', 'a3')
  if #args <= mostInside then
    local fields = {}
    addArgs(fields, args)
    call('HSET', jobKey(id), unpack(fields))
    call('DEL', argsKey(id))
  else
    call('SET', argsKey(id), args)
  end
end

-- whole returns a job as the caller reads it: its ID, then its fields; how many bytes these are, and how many attempts it has had.
local function whole(id)
  local v = call('HGETALL', jobKey(id))
  local bytes, n, inside = 0, 0, false
  for i = 1, #v, 2 do
    local name = v[i]
    bytes = bytes + #v[i + 1]
    if name == 'a0' then
      inside = true
    elseif name == 'n' then
      n = v[i + 1]
    end
  end
  if not inside then
    local args = call('GET', argsKey(id))
    v[#v + 1] = 'a'
    v[#v + 1] = args
    bytes = bytes + #args
  end
  v[#v + 1] = 'id'
  v[#v + 1] = id
  return v, bytes, n
end
