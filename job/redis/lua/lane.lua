-- Limits and turns: the arithmetic of job.Rate, and the turns of job.TakeTurns, in whole microseconds. Numbers stay below 2^53, where they are
-- exact: a burst takes less than ten years.

-- span is the time that n starts take, rounded up.
local function span(rate, n)
  local each = math.floor(rate.per / rate.n)
  return n * each + math.ceil(n * (rate.per - each * rate.n) / rate.n)
end

-- left returns how many may start now; full is when the whole burst may.
local function left(rate, full)
  if rate.n == 0 then return math.huge end
  local busy = full - now
  if busy <= 0 then return rate.burst end
  if busy > span(rate, rate.burst) then return 0 end
  local used = math.max(math.floor(busy / rate.per * rate.n) - 1, 0)
  while span(rate, used) < busy do used = used + 1 end
  return rate.burst - used
end

-- take returns the time to keep when n have started.
local function take(rate, full, n)
  if rate.n == 0 or n == 0 then return full end
  return math.max(full, now - math.min(math.floor(span(rate, 1) / 2), 50000)) + span(rate, n)
end

-- nextStart returns when the next may start: now, or later.
local function nextStart(rate, full)
  if left(rate, full) > 0 then return now end
  return full - span(rate, rate.burst - 1)
end

local function free(limit, running)
  if limit == 0 then return math.huge end
  return math.max(limit - running, 0)
end

local none = { running = 0, starts = { n = 0 }, keyRunning = 0, keyStarts = { n = 0 }, inOrder = false }

-- openQueue reads what is kept of a queue.
local function openQueue(name)
  local v = call('HMGET', P .. 'q:' .. name, 'tu', 'fu', 'he', 'fe', 'hp', 'rt')
  local q = {
    name = name, limits = limitsOf(name) or none, turn = tonumber(v[1] or 0), full = tonumber(v[2] or 0), held = tonumber(v[3] or 0),
    fullEpoch = tonumber(v[4] or 0), heldEpoch = tonumber(v[5] or 0), retouch = v[6], lanes = {},
  }
  q.keyAtOnce = q.limits.keyRunning
  if q.limits.inOrder then q.keyAtOnce = 1 end
  return q
end

local function saveQueue(q) call('HSET', P .. 'q:' .. q.name, 'tu', int(q.turn), 'fu', int(q.full)) end

-- A lane is kept as six numbers: its priority, 0 while none of its jobs may start; its turn; the time of its rate, and the epoch of the rates
-- that it is of; until when it is held, and the epoch of that. A time of another epoch does not count any more.
local function openLane(q, name)
  local l = q.lanes[name]
  if l then return l end
  local p, turn, full, fullEpoch, held, heldEpoch = string.match(call('HGET', P .. 'l:' .. q.name, name) or '0 0 0 0 0 0', '(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)')
  l = { key = name, priority = tonumber(p), turn = tonumber(turn), full = 0, held = 0, running = tonumber(call('HGET', P .. 'n:' .. q.name, name) or 0) }
  if tonumber(fullEpoch) == q.fullEpoch then l.full = tonumber(full) end
  if tonumber(heldEpoch) == q.heldEpoch then l.held = tonumber(held) end
  q.lanes[name] = l
  return l
end

local function saveLane(q, l)
  call('HSET', P .. 'l:' .. q.name, l.key, string.format('%d %.0f %.0f %d %.0f %d', l.priority, l.turn, l.full, q.fullEpoch, l.held, q.heldEpoch))
end

local function laneLeft(q, l)
  if l.key == '' then return math.huge end
  if l.held > now then return 0 end
  return math.min(free(q.keyAtOnce, l.running), left(q.limits.keyStarts, l.full))
end

local function queueLeft(q, running)
  if q.held > now then return 0 end
  return math.min(free(q.limits.running, running), left(q.limits.starts, q.full))
end

local function queueNext(q) return math.max(nextStart(q.limits.starts, q.full), q.held) end

local function inOrder(q, l) return l.key ~= '' and q.limits.inOrder end

-- laneDue returns the priority of the job of a lane that is next, or 0, when the first that is not due yet will be, and whether there is any.
local function laneDue(q, l)
  if inOrder(q, l) then
    local m = call('ZRANGE', orderKey(q.name, l.key), 0, 0)[1]
    if not m then return 0, nil, false end
    local v = call('HMGET', jobKey(string.sub(m, 1, 16)), 'p', 'r')
    if tonumber(v[2]) <= now then return tonumber(v[1]), nil, true end
    return 0, tonumber(v[2]), true
  end
  local priority, wakeAt, any = 0, nil, false
  for p = 1, 9 do
    local e = call('ZRANGE', readyKey(q.name, l.key, p), 0, 0, 'WITHSCORES')
    if e[1] then
      any = true
      local at = tonumber(e[2])
      if at <= now then
        priority = p
      elseif not wakeAt or at < wakeAt then
        wakeAt = at
      end
    end
  end
  return priority, wakeAt, any
end

-- settleLane finds out whether a job of the lane may start. One that could not until now gets in line behind the others.
local function settleLane(q, l)
  local before, beforeTurn = l.priority, l.turn
  local priority, wakeAt, any = laneDue(q, l)
  local idle = math.max(l.full, l.held)
  local gone = false
  if priority > 0 and laneLeft(q, l) <= 0 then
    priority = 0
    local at = math.max(nextStart(q.limits.keyStarts, l.full), l.held)
    if at > now then wakeAt = at end
  elseif not any and l.running <= 0 then
    gone = idle <= now
    if not gone then wakeAt = idle end
  end
  if priority ~= before then
    q.turn = q.turn + 1
    l.turn = q.turn
  end
  l.priority = priority
  if before > 0 and before ~= priority then call('ZREM', P .. 'i:' .. before .. ':' .. q.name, l.key) end
  if priority > 0 then call('ZADD', P .. 'i:' .. priority .. ':' .. q.name, int(l.turn), l.key) end
  if wakeAt then
    call('ZADD', P .. 'w:' .. q.name, int(wakeAt), l.key)
  else
    call('ZREM', P .. 'w:' .. q.name, l.key)
  end
  if gone then
    call('HDEL', P .. 'l:' .. q.name, l.key)
    q.lanes[l.key] = nil
  else
    saveLane(q, l)
  end
end

-- refresh brings the lanes that have changed since the last claim, or by the time that has passed, up to date. It returns true when
-- there are more than it did: a claim then has to come again.
local function refresh(q)
  local most, more = 200, false
  if q.retouch then
    local page = call('HSCAN', P .. 'l:' .. q.name, q.retouch, 'COUNT', most)
    for i = 1, #page[2], 2 do call('ZADD', P .. 't:' .. q.name, 'NX', 0, page[2][i]) end
    if page[1] == '0' then
      call('HDEL', P .. 'q:' .. q.name, 'rt')
    else
      call('HSET', P .. 'q:' .. q.name, 'rt', page[1])
      more = true
    end
  end
  local names = call('ZPOPMIN', P .. 't:' .. q.name, most)
  for i = 1, #names, 2 do settleLane(q, openLane(q, names[i])) end
  local over = call('ZRANGEBYSCORE', P .. 'w:' .. q.name, '-inf', int(now), 'LIMIT', 0, most)
  for i = 1, #over do settleLane(q, openLane(q, over[i])) end
  settleLane(q, openLane(q, ''))
  return more or #names == 2 * most or #over == most
end

-- throttleLane holds back the jobs of a lane, or of the whole queue where the job that says so has no key.
local function throttleLane(name, key, till)
  local q = openQueue(name)
  if key == '' then
    if till > q.held then call('HSET', P .. 'q:' .. name, 'he', int(till)) end
    return
  end
  local l = openLane(q, key)
  if till > l.held then
    l.held = till
    saveLane(q, l)
  end
  touch(name, key)
end
