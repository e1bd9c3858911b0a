-- What the scripts share that read and write jobs. Nothing is written before a script has found that it can do all that it was asked for.

-- classKey is asked for one queue and kind many times in turn.
local classKey
do
  local keys, lastQueue, lastKind, ofLast = {}, nil, nil, nil
  classKey = function(s, q, k)
    if q ~= lastQueue or k ~= lastKind then
      local name = className('', q, k)
      lastQueue, lastKind, ofLast = q, k, keys[name]
      if not ofLast then
        ofLast = {}
        keys[name] = ofLast
      end
    end
    local key = ofLast[s]
    if not key then
      key = P .. 'c:' .. className(s, q, k)
      ofLast[s] = key
    end
    return key
  end
end

-- A job is one value, a stream of MessagePack in three parts: what each claim and outcome changes (9 values), what seldom changes (11), and what never
-- does but by a replacement (6), see keys.md. A part that has not changed is written as it was read.
local stateOf = { q = 'queued', r = 'running', c = 'completed', d = 'discarded', x = 'canceled' }
local letterOf = { queued = 'q', running = 'r', completed = 'c', discarded = 'd', canceled = 'x' }
local hasKey, hasMeta, hasArgs = 1, 2, 4 -- flags: a unique key, an ID of another system, args in a place of their own
local function has(j, flag) return j.fl % (2 * flag) >= flag end

local unpackSome = cmsgpack.unpack_limit

local function parse(v)
  local cold, s, n, x, se, ca, st, f, w, d = unpackSome(v, 9, 0)
  local rest, q, p, k, l, r, c, m, fl, sp, di, ho = unpackSome(v, 11, cold)
  return {
    s = stateOf[s], n = n, x = x % 2 == 1, xp = x >= 2, se = se, ca = ca, st = st, f = f, w = w, d = d,
    q = q, p = p, k = k, l = l, r = r, c = c, m = m, fl = fl, sp = sp, di = di, ho = ho, cold = cold, rest = rest, kept = v,
  }
end

-- Jobs that were inserted or claimed together have the same first two parts. What follows another that has the same shares them: it looks up in the head
-- what it has not of its own. What claims and outcomes set is its own from the start, as a table that grows costs more.
local read
do
  local head, headText, last
  read = function(id, v)
    if last and string.sub(v, 1, last.rest) == string.sub(last.kept, 1, last.rest) then
      head, headText, last = parse(v), string.sub(v, 1, last.rest), nil
      head.__index = head
    end
    local h = head
    if h and string.sub(v, 1, h.rest) == headText then
      return setmetatable({ id = id, kept = v, s = h.s, n = h.n, x = h.x, se = h.se, ca = h.ca, st = h.st, f = h.f, w = h.w, d = h.d }, h)
    end
    last = parse(v)
    last.id = id
    return last
  end
end

-- What is read of jobs in this script, by ID: false where there is none. What has changed is written at the end, in that order, see done.
local jobs, changed = {}, {}

-- fetch reads jobs that are not read yet at once.
local function fetch(ids)
  local missing = {}
  for i = 1, #ids do
    if jobs[ids[i]] == nil then missing[#missing + 1] = ids[i] end
  end
  for from = 1, #missing, 1000 do
    local to = math.min(from + 999, #missing)
    local v = call('HMGET', J, unpack(missing, from, to))
    for i = from, to do
      local kept = v[i - from + 1]
      jobs[missing[i]] = kept and read(missing[i], kept)
    end
  end
end

-- load returns a job, nil where there is none.
local function load(id)
  local j = jobs[id]
  if j == nil then
    local v = call('HGET', J, id)
    j = v and read(id, v)
    jobs[id] = j
  elseif j and j.fresh then -- it was inserted by this script, which knows some of it
    setmetatable(j, { __index = parse(j.kept) })
    j.fresh = false
  end
  return j or nil
end

-- save has a job written at the end; all is true where more has changed than its first part.
local function save(j, all)
  if not j.changed then
    j.changed = true
    changed[#changed + 1] = j
  end
  if j.text then j.text = nil end
  if all then j.all = true end
end

-- tailOf is the third part of a job.
local function tailOf(j)
  if not j.tail then
    if not j.rest then j.rest = unpackSome(j.kept, 11, j.cold) end
    j.tail = string.sub(j.kept, j.rest + 1)
  end
  return j.tail
end

-- more reads what a job seldom needs.
local function more(j)
  if not j.u then
    local _, u, uf, mi, co, o = unpackSome(tailOf(j), 5, 0)
    j.u, j.uf, j.mi, j.co, j.o = u, uf, mi, co, o
  end
  return j
end

-- hot is the first part of a job. Jobs that are written together mostly have the same.
local same, hotOfSame = {}, nil
local function hot(j)
  local x = (j.x and 1 or 0) + (j.xp and 2 or 0)
  local a = same
  if a.s ~= j.s or a.n ~= j.n or a.x ~= x or a.st ~= j.st or a.ca ~= j.ca or a.se ~= j.se or a.w ~= j.w or a.d ~= j.d or a.f ~= j.f then
    a.s, a.n, a.x, a.st, a.ca, a.se, a.w, a.d, a.f = j.s, j.n, x, j.st, j.ca, j.se, j.w, j.d, j.f
    hotOfSame = cmsgpack.pack(letterOf[j.s], j.n, x, j.se, j.ca, j.st, j.f, j.w, j.d)
  end
  return hotOfSame
end

-- textOf is the value of a job as it is now.
local function textOf(j)
  if not j.text then
    if j.all then
      j.text = hot(j) .. cmsgpack.pack(j.q, j.p, j.k, j.l, j.r, j.c, j.m, j.fl, j.sp, j.di, j.ho) .. tailOf(j)
    else
      j.text = hot(j) .. string.sub(j.kept, j.cold + 1)
    end
  end
  return j.text
end

-- whole adds a job to a list as the caller reads it, its ID and its value, with args behind that are not in it. It returns how long that is. To make one
-- string of both would cost more than to send two.
local function whole(list, j)
  local v = j.changed and textOf(j) or j.kept
  if has(j, hasArgs) then v = v .. call('HGET', A, j.id) end
  list[#list + 1] = j.id
  list[#list + 1] = v
  return #v
end

-- addTo adds to one of the lists that are written by one command each.
local function addTo(lists, key, value, other)
  local list = lists[key]
  if not list then
    list = {}
    lists[key] = list
  end
  list[#list + 1] = value
  if other then list[#list + 1] = other end
end

-- writeAll runs a command for each list, with no more than a thousand of its values at once.
local function writeAll(name, lists)
  for key, list in pairs(lists) do
    for from = 1, #list, 1000 do call(name, key, unpack(list, from, math.min(from + 999, #list))) end
  end
end

-- writeJobs writes the jobs that have changed, and moves them to the class that they are of now.
local function writeJobs()
  local gone, values, from, to = {}, {}, {}, {}
  for i = 1, #changed do
    local j = changed[i]
    if j.gone then
      gone[#gone + 1] = j.id
    else
      values[#values + 1] = j.id
      values[#values + 1] = textOf(j)
    end
    local was, class = j.was, j.class
    if was ~= class then
      if was then addTo(from, was, j.id) end
      if class then addTo(to, class, '0', j.id) end
    end
  end
  writeAll('HDEL', { [J] = gone, [A] = gone })
  writeAll('HSET', { [J] = values })
  writeAll('ZREM', from)
  writeAll('ZADD', to)
  changed = {}
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

-- used are the priorities, a digit for each, that jobs with limit keys of a queue have had, once limitsOf was asked for it.
local used = {}

-- limitsOf returns the limits of a queue, nil where neither it nor one of its keys has any. Times are in microseconds.
local limitsCache = {}
local function limitsOf(q)
  local l = limitsCache[q]
  if l == nil then
    local v = call('HMGET', P .. 'q:' .. q, 'x', 'ov', 'pm')
    used[q] = v[3] or ''
    local overrides = tonumber(v[2] or 0)
    l = (v[1] or overrides > 0) and limitsFrom(v[1] or '', overrides) or false
    limitsCache[q] = l
  end
  return l or nil
end

-- What is written once at the end of a script: see done.
local runs, touched, woken, classes, members, lists, ended, unended, leaving = {}, {}, {}, {}, {}, {}, {}, {}, {}

-- put notes that a member belongs in a sorted set, with a score; where that is false, that it does not. So a script that changes many jobs
-- writes each set once: a command for each job would cost more than what it does.
local function put(key, score, member)
  local of = members[key]
  if not of then
    of = {}
    members[key] = of
  end
  of[member] = score
end

-- count notes that more jobs of a lane run, or fewer.
local function count(q, l, d)
  local r = runs[q]
  if not r then
    r = {}
    runs[q] = r
  end
  r[''] = (r[''] or 0) + d
  if l ~= '' then r[l] = (r[l] or 0) + d end
end

-- touch marks a lane, so that the next claim finds out whether it may start a job. Those that may get in line as they were marked.
local function touch(q, l)
  if l == '' then return end
  local t = touched[q]
  if not t then
    t = { names = {}, known = {} }
    touched[q] = t
  end
  if not t.known[l] then
    t.known[l] = true
    t.names[#t.names + 1] = l
  end
end

local function wake(q) woken[q] = true end

local function writeRuns()
  for q, lanes in pairs(runs) do
    local key, names = P .. 'n:' .. q, {}
    for l, d in pairs(lanes) do
      if d ~= 0 then names[#names + 1] = l end
    end
    if #names > 0 then
      local kept, sets, drops = call('HMGET', key, unpack(names)), {}, {}
      for i = 1, #names do
        local n = tonumber(kept[i] or 0) + lanes[names[i]]
        if n > 0 then
          sets[#sets + 1] = names[i]
          sets[#sets + 1] = int(n)
        else
          drops[#drops + 1] = names[i]
        end
      end
      if #sets > 0 then call('HSET', key, unpack(sets)) end
      if #drops > 0 then call('HDEL', key, unpack(drops)) end
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
    end
    writeAll('ZADD', { [key] = adds })
    writeAll('ZREM', { [key] = drops })
  end
  members = {}
end

-- Jobs that a session holds are noted by batches, of what was claimed at once: h:S has the batches by the number of the claim, b:S the IDs of each
-- and how many of them the session still holds. A job names its session and its batch.

-- holdBatch notes jobs as a batch of a session. The caller has them written.
local function holdBatch(session, number, list)
  if #list == 0 then return end
  local held, at = P .. 'b:' .. session, now
  while call('HEXISTS', held, int(at)) == 1 do at = at + 1 end
  local ids = {}
  for i = 1, #list do
    list[i].se, list[i].ca = session, at
    ids[i] = list[i].id
  end
  call('HSET', held, int(at), table.concat(ids), 'n' .. int(at), #ids)
  call('ZADD', P .. 'h:' .. session, number, int(at))
end

-- leaveBatch notes that the session of a running job holds it no more.
local function leaveBatch(j)
  local of = leaving[j.se]
  if not of then
    of = {}
    leaving[j.se] = of
  end
  of[j.ca] = (of[j.ca] or 0) + 1
end

local function writeLeft()
  for session, batches in pairs(leaving) do
    local held = P .. 'b:' .. session
    for at, n in pairs(batches) do
      local name = int(at)
      if call('HINCRBY', held, 'n' .. name, -n) <= 0 then
        call('HDEL', held, name, 'n' .. name)
        call('ZREM', P .. 'h:' .. session, name)
      end
    end
  end
  leaving = {}
end

-- holds reports whether a session holds a job.
local function holds(session, j) return j and j.s == 'running' and j.se == session end

-- inBatch returns the jobs of a batch that the session still holds.
local function inBatch(session, name)
  local ids, at, found = call('HGET', P .. 'b:' .. session, name) or '', tonumber(name), {}
  local list = {}
  for i = 1, #ids, 16 do list[#list + 1] = string.sub(ids, i, i + 15) end
  fetch(list)
  for i = 1, #list do
    local j = load(list[i])
    if holds(session, j) and j.ca == at then found[#found + 1] = j end
  end
  return found, #list
end

-- Jobs without a limit key that are due at once wait in lists: each is its ID, and when it is due, as eight bytes. An item whose job is not queued any
-- more, or otherwise, is left out when it is read: nothing is taken from the middle of a list.
local dueNow = struct.pack('>d', now)

-- idsIn returns the IDs of items, whose jobs it has read at once.
local function idsIn(items)
  local ids = {}
  for i = 1, #items do ids[i] = string.sub(items[i], 1, 16) end
  fetch(ids)
  return ids
end

-- waiting returns the job of an item of a list, nil where the item is left out. The time is unpacked once where items have the same, as most do.
local waiting
do
  local lastDue, lastTime
  waiting = function(q, p, id, item)
    local j = load(id)
    if not j or j.s ~= 'queued' or j.q ~= q or j.p ~= p or j.l ~= '' then return nil end
    local due = string.sub(item, 17)
    if due ~= lastDue then lastDue, lastTime = due, struct.unpack('>d', due) end
    if j.r == lastTime then return j end
  end
end

local function writeLists()
  for key, items in pairs(lists) do
    for i = 2, #items do
      if items[i] < items[i - 1] then
        table.sort(items)
        break
      end
    end
  end
  writeAll('RPUSH', lists)
  lists = {}
end

-- What has finished at once is one member of f:STATE: the IDs, one after the other. leaveEnded notes that a job is none of these any more.
local function leaveEnded(state, at, id)
  local key = P .. 'f:' .. state
  local of = unended[key]
  if not of then
    of = {}
    unended[key] = of
  end
  at = int(at)
  of[at] = of[at] or {}
  of[at][id] = true
end

local function writeEnded()
  for state, ids in pairs(ended) do call('ZADD', P .. 'f:' .. state, nowText, table.concat(ids)) end
  for key, times in pairs(unended) do
    for at, ids in pairs(times) do
      for _, member in ipairs(call('ZRANGEBYSCORE', key, at, at)) do
        local rest = {}
        for i = 1, #member, 16 do
          local id = string.sub(member, i, i + 15)
          if not ids[id] then rest[#rest + 1] = id end
        end
        if 16 * #rest < #member then
          call('ZREM', key, member)
          if #rest > 0 then call('ZADD', key, at, table.concat(rest)) end
        end
      end
    end
  end
  ended, unended = {}, {}
end

-- ending has what other parts of a script write at the end.
local ending = {}

-- done writes what has gathered. Each script that changes jobs ends with it.
local function done()
  for i = 1, #ending do ending[i]() end
  writeJobs()
  writeLists()
  writeLeft()
  writeRuns()
  writeMembers()
  writeEnded()
  for q, lanes in pairs(touched) do
    local last, list = call('HINCRBY', P .. 'q:' .. q, 'tc', #lanes.names), {}
    for i, l in ipairs(lanes.names) do
      list[#list + 1] = last - #lanes.names + i
      list[#list + 1] = l
    end
    for from = 1, #list, 1000 do call('ZADD', P .. 't:' .. q, 'NX', unpack(list, from, math.min(from + 999, #list))) end
    call('SADD', P .. 'laned', q)
  end
  local names = {}
  for key in pairs(classes) do names[#names + 1] = string.sub(key, #P + 3) end
  if #names > 0 then call('SADD', P .. 'classes', unpack(names)) end
  for q in pairs(woken) do call('PUBLISH', P .. 'wake', q) end
end

-- holdLane notes a job that was discarded, where those behind it in its lane wait for it.
local function holdLane(j)
  local limits = limitsOf(j.q)
  if j.l == '' or not limits or not limits.hold then return end
  local epoch = call('HGET', P .. 'q:' .. j.q, 'hd')
  put(holdKey(epoch, j.q, j.l), int(j.c), j.id)
  j.ho = epoch
  save(j, true)
end

-- releaseLane is called when a discarded job is no longer so.
local function releaseLane(j)
  if j.ho == '' then return end
  put(holdKey(j.ho, j.q, j.l), false, j.id)
  j.ho = ''
  save(j, true)
  touch(j.q, j.l)
  wake(j.q)
end

-- ready puts a queued job without a place of its own where claims find it.
local function ready(j)
  local m = j.id .. j.k
  if j.l == '' and j.r == now and not limitsOf(j.q) then
    addTo(lists, listKey(j.q, j.p), j.id .. dueNow)
    return
  end
  put(readyKey(j.q, j.l, j.p), int(j.r), m)
  if j.l ~= '' then
    put(orderKey(j.q, j.l), int(j.c), m)
    put(P .. 'k:' .. j.q, int(j.r), j.id)
    touch(j.q, j.l)
    limitsOf(j.q)
    if not string.find(used[j.q], j.p, 1, true) then
      used[j.q] = used[j.q] .. j.p
      call('HSET', P .. 'q:' .. j.q, 'pm', used[j.q])
    end
  end
end

-- enterClass notes the class that a job is of now, leaveClass that it is of none: see writeJobs.
local function enterClass(j)
  local key = classKey(j.s, j.q, j.k)
  classes[key] = true
  j.class = key
end

local function leaveClass(j)
  if j.class then
    j.class = nil
  else
    j.was = classKey(j.s, j.q, j.k)
  end
end

-- link puts a queued or finished job, as it is now, where it is to be found. The caller has it written.
local function link(j)
  if j.s == 'queued' then
    ready(j)
  else
    addTo(ended, j.s, j.id)
    if j.s == 'discarded' then holdLane(j) end
  end
  enterClass(j)
end

-- unlink is called before a job changes. The caller has it written.
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
    leaveBatch(j)
    if j.x then call('SREM', P .. 'x:' .. j.se, j.id) end
    if j.xp then
      put(P .. 'e:' .. j.p .. ':' .. j.q, false, j.id .. j.k)
      j.xp = false
    end
    count(j.q, j.l, -1)
    touch(j.q, j.l)
    if limitsOf(j.q) then wake(j.q) end
  else
    leaveEnded(j.s, j.f, j.id)
    if j.s == 'discarded' then releaseLane(j) end
  end
  leaveClass(j)
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

-- uniqueKey returns the unique key of a job, nil where it has none.
local function uniqueKey(j) return has(j, hasKey) and more(j).u or nil end

-- letGo is called for a job that has finished: its key is free, now or when the time for which it is unique is over.
local function letGo(j)
  local key = uniqueKey(j)
  if not key or holder(key) ~= j.id then return end
  local keep = j.c + j.uf
  if keep > now then
    call('HSET', P .. 'u', key, j.id .. int(keep))
    call('ZADD', P .. 'uk', int(keep), key)
  else
    call('HDEL', P .. 'u', key)
  end
end

-- finish moves an unlinked job to its final state.
local function finish(j, state)
  j.s, j.f, j.x, j.se, j.ca = state, now, false, '', 0
  save(j)
  letGo(j)
  link(j)
end

-- due returns when a job is due: at a time that is given, or after a delay.
local function due(at, delay)
  if at ~= '' then return tonumber(at) end
  return now + delay
end

-- remove deletes an unlinked job.
local function remove(j)
  if has(j, hasMeta) then put(P .. 'm:' .. more(j).mi, false, j.id) end
  jobs[j.id], j.gone = false, true
  save(j)
end
