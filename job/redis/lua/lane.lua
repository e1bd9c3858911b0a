-- Limits and turns: the arithmetic of job.Rate and the turns of job.TakeTurns, in whole microseconds. Numbers stay below 2^53, where they are exact:
-- a burst takes less than ten years.

local tenYears = 315360000000000

local lateStart = 50000 -- a late start lets the next one be early by at most this

-- span returns the time that n starts, or units, take, rounded up; at most ten years. The remainder is multiplied in two steps, so that no number
-- exceeds 2^53.
local function span(rate, n)
  local each = math.floor(rate.per / rate.n)
  if n * each >= tenYears then return tenYears end
  local rest, high = rate.per - each * rate.n, math.floor(n / 32768)
  local whole = math.floor(high * rest / rate.n)
  local part = (high * rest - whole * rate.n) * 32768 + (n - high * 32768) * rest
  return math.min(n * each + whole * 32768 + math.ceil(part / rate.n), tenYears)
end

-- left returns how many may start now; full is the time at which the whole burst may.
local function left(rate, full)
  if rate.n == 0 then return math.huge end
  local busy = full - now
  if busy <= 0 then return rate.burst end
  if busy > span(rate, rate.burst) then return 0 end
  local used = math.max(math.floor(busy / rate.per * rate.n) - 1, 0)
  while span(rate, used) < busy do used = used + 1 end
  return rate.burst - used
end

-- take returns the time to store after n starts.
local function take(rate, full, n)
  if rate.n == 0 or n == 0 then return full end
  return math.max(full, now - math.min(math.floor(span(rate, 1) / 2), lateStart)) + span(rate, n)
end

-- charge returns the time to store after n units were used; n is negative if units are given back.
local function charge(rate, full, n)
  if rate.n == 0 or n == 0 or n < 0 and full <= now then return full end
  if n < 0 then return full - span(rate, -n) end
  local s = span(rate, n)
  return math.min(math.max(full, now - math.min(math.floor(s / 2), lateStart)) + s, now + tenYears)
end

-- nextStart returns when the next may start: now or later.
local function nextStart(rate, full)
  if rate.n == 0 then return now end
  return math.max(full - span(rate, rate.burst - 1), now)
end

-- usedUp reports whether no units are left.
local function usedUp(rate, full) return rate.n > 0 and nextStart(rate, full) > now end

local function free(limit, running)
  if limit == 0 then return math.huge end
  return math.max(limit - running, 0)
end

local function sameRate(a, b) return a.n == b.n and (a.n == 0 or a.per == b.per and a.burst == b.burst) end

local none = limitsFrom('', 0)

-- openQueue reads the state of a queue.
local function openQueue(name)
  local v = call('HMGET', P .. 'q:' .. name, 'tu', 'fu', 'he', 'fe', 'hp', 'rt', 'pd', 'pe', 'hd')
  return {
    name = name, limits = limitsOf(name) or none, turn = tonumber(v[1] or 0), full = tonumber(v[2] or 0), held = tonumber(v[3] or 0),
    fullEpoch = tonumber(v[4] or 0), heldEpoch = tonumber(v[5] or 0), retouch = v[6], lanes = {}, lines = {},
    paid = tonumber(v[7] or 0), paidEpoch = tonumber(v[8] or 0), holdEpoch = v[9],
  }
end

-- ofKey returns the limits of a lane's key: its own, or those of each key.
local function ofKey(q, l) return l.own or q.limits.eachKey end

-- The new states of lanes, by queue and key; false for a lane to delete. writeLanes writes them.
local lanes = {}

local function saveQueue(q) call('HSET', P .. 'q:' .. q.name, 'tu', int(q.turn), 'fu', int(q.full), 'pd', int(q.paid)) end

-- A lane is stored as nine numbers: its priority, 0 if none of its jobs may start; its turn; the time of its rate, and the epoch of that; until when
-- it is throttled, and the epoch of that; the time of its units, and the epoch of that; and how many jobs started in its turn. A time of an older
-- epoch no longer counts, unless the key has limits of its own. Older programs store the first six or eight. Most lanes have the same values after
-- the turn, so these are read and written as a whole.
local laneOf
do
  local rests, noRest = {}, { 0, 0, 0, 0 }

  laneOf = function(q, name, kept, running, own)
    local noted = lanes[q.name] and lanes[q.name][name]
    if noted ~= nil then kept = noted end
    local priority, turn, rest = 0, 0, noRest
    -- All programs for schema 3 read text; some of them wrote packed lanes, after an empty string.
    if kept and string.byte(kept) == 0xa0 then
      local v = { select(2, cmsgpack.unpack(kept)) }
      priority, turn, rest = v[1], v[2], { unpack(v, 3) }
    elseif kept then
      local p, t, text = string.match(kept, '^(%d+) (%d+)(.*)$')
      priority, turn, rest = tonumber(p), tonumber(t), rests[text]
      if not rest then
        rest = numbers(text)
        rests[text] = rest
      end
    end
    local l = { key = name, priority = priority, turn = turn, full = 0, held = 0, paid = 0, served = rest[7] or 0, running = running, kept = kept }
    if own then l.own = keyLimits(string.match(own, '^[^\n]*')) end
    if own or rest[2] == q.fullEpoch then l.full = rest[1] end
    if rest[4] == q.heldEpoch then l.held = rest[3] end
    if own or rest[6] == q.paidEpoch then l.paid = rest[5] or 0 end
    q.lanes[name] = l
  end
end

-- readLanes reads several lanes, except those that have been read already.
local function readLanes(q, names)
  local missing = {}
  for i = 1, #names do
    if not q.lanes[names[i]] then missing[#missing + 1] = names[i] end
  end
  if #missing == 0 then return end
  local kept, run, own = call('HMGET', P .. 'l:' .. q.name, unpack(missing)), runningOf(q.name, missing), {}
  if q.limits.overrides > 0 then own = call('HMGET', P .. 'v:' .. q.name, unpack(missing)) end
  for i = 1, #missing do laneOf(q, missing[i], kept[i], run[missing[i]], missing[i] ~= '' and own[i]) end
end

local function openLane(q, name)
  if not q.lanes[name] then readLanes(q, { name }) end
  return q.lanes[name]
end

-- turnText returns the turn of a lane as text, as it is stored.
local function turnText(l)
  if l.textOf ~= l.turn then l.textOf, l.turnText = l.turn, int(l.turn) end
  return l.turnText
end

local saveLane
do
  local a = {}

  -- restOf returns the stored fields of a lane after its turn.
  local function restOf(q, l)
    if a.q ~= q or a.full ~= l.full or a.held ~= l.held or a.paid ~= l.paid or a.served ~= l.served then
      a.q, a.full, a.held, a.paid, a.served = q, l.full, l.held, l.paid, l.served
      a.text = string.format(' %.0f %d %.0f %d %.0f %d %d', l.full, q.fullEpoch, l.held, q.heldEpoch, l.paid, q.paidEpoch, l.served)
    end
    return a.text
  end

  saveLane = function(q, l)
    local text = l.priority .. ' ' .. turnText(l) .. restOf(q, l)
    if text == l.kept then return end -- most lanes that are settled again have not changed
    local of = lanes[q.name]
    if not of then
      of = {}
      lanes[q.name] = of
    end
    of[l.key], l.kept = text, text
  end
end

local function dropLane(q, l)
  lanes[q.name] = lanes[q.name] or {}
  lanes[q.name][l.key] = false
  q.lanes[l.key] = nil
end

local function writeLanes()
  for name, of in pairs(lanes) do
    local sets, drops = {}, {}
    for l, kept in pairs(of) do
      if kept then
        sets[#sets + 1] = l
        sets[#sets + 1] = kept
      else
        drops[#drops + 1] = l
      end
      if #sets >= 1000 then
        call('HSET', P .. 'l:' .. name, unpack(sets))
        sets = {}
      end
    end
    if #sets > 0 then call('HSET', P .. 'l:' .. name, unpack(sets)) end
    for from = 1, #drops, 1000 do call('HDEL', P .. 'l:' .. name, unpack(drops, from, math.min(from + 999, #drops))) end
  end
  lanes = {}
end
ending[#ending + 1] = writeLanes

local function laneLeft(q, l)
  if l.key == '' then return math.huge end
  local of = ofKey(q, l)
  if l.held > now or usedUp(of.units, l.paid) then return 0 end
  return math.min(free(q.limits.inOrder and 1 or of.running, l.running), left(of.starts, l.full))
end

local function queueLeft(q, running)
  if q.held > now or usedUp(q.limits.units, q.paid) then return 0 end
  return math.min(free(q.limits.running, running), left(q.limits.starts, q.full))
end

local function queueNext(q) return math.max(nextStart(q.limits.starts, q.full), nextStart(q.limits.units, q.paid), q.held) end

local function inOrder(q, l) return l.key ~= '' and q.limits.inOrder end

-- firstInOrder returns the first queued job of a lane, and the discarded job that holds the lane, if there is one.
local function firstInOrder(q, l)
  local first = call('ZRANGE', orderKey(q.name, l.key), 0, 0, 'WITHSCORES')
  local holder = {}
  if q.limits.hold then holder = call('ZRANGE', holdKey(q.holdEpoch, q.name, l.key), 0, 0, 'WITHSCORES') end
  if first[1] and holder[1] then
    local a, b = tonumber(first[2]), tonumber(holder[2])
    if a < b or a == b and idLess(first[1], holder[1]) then holder = {} end
  end
  return first[1], holder[1]
end

-- laneDue returns the priority of the next job of a lane, or 0; when the first job that is not due yet will be; and whether the lane has any jobs. It
-- does not search priorities that are known to be empty.
local function laneDue(q, l, empty)
  if inOrder(q, l) then
    local m, holder = firstInOrder(q, l)
    if not m or holder then return 0, nil, m end
    local j = load(string.sub(m, 1, 16))
    if not j then return 0, nil, true end
    if j.r <= now then return j.p, nil, true end
    return 0, j.r, true
  end
  local priority, wakeAt, any = 0, nil, false
  limitsOf(q.name)
  for p in string.gmatch(l.key == '' and '123456789' or used[q.name], '%d') do
    p = tonumber(p)
    local e = p ~= empty and call('ZRANGE', readyKey(q.name, l.key, p), 0, 0, 'WITHSCORES')
    if e and e[1] then
      any = true
      local at = tonumber(e[2])
      if at <= now then
        priority = math.max(priority, p)
      elseif not wakeAt or at < wakeAt then
        wakeAt = at
      end
    end
  end
  return priority, wakeAt, any
end

-- laneHint returns the state to store of a lane: the priority of the job that may start, or 0; when to check the lane again; and whether to delete
-- the lane instead.
local function laneHint(q, l, empty)
  local priority, wakeAt, any = laneDue(q, l, empty)
  local idle = math.max(math.max(l.full, l.paid) + lateStart, l.held)
  local gone = false
  if priority > 0 and laneLeft(q, l) <= 0 then
    priority = 0
    local of = ofKey(q, l)
    local at = math.max(nextStart(of.starts, l.full), nextStart(of.units, l.paid), l.held)
    if at > now then wakeAt = at end
  elseif not any and l.running <= 0 then
    gone = idle <= now
    if not gone then wakeAt = idle end
  end
  return priority, wakeAt, gone
end

local function lineKey(q, priority)
  local key = q.lines[priority]
  if not key then
    key = P .. 'i:' .. priority .. ':' .. q.name
    q.lines[priority] = key
  end
  return key
end

-- settleLane finds out whether a job of the lane may start. If that is new, the lane gets in line behind the others.
local function settleLane(q, l, empty)
  local before = l.priority
  local priority, wakeAt, gone = laneHint(q, l, empty)
  if priority ~= before then
    q.turn = q.turn + 1
    l.turn, l.served = q.turn, 0
  end
  l.priority = priority
  if before > 0 and before ~= priority then put(lineKey(q, before), false, l.key) end
  if priority > 0 then put(lineKey(q, priority), turnText(l), l.key) end
  put(P .. 'w:' .. q.name, wakeAt and int(wakeAt) or false, l.key)
  if gone then
    dropLane(q, l)
  else
    saveLane(q, l)
  end
end

-- keepInLine is settleLane for a lane that stays open at its priority, and of which only the turn may have changed.
local function keepInLine(q, l)
  put(lineKey(q, l.priority), turnText(l), l.key)
  saveLane(q, l)
end

-- absorb moves jobs from the lists of a queue to the sorted sets in which turns find them. It returns true if there are more.
local function absorb(name)
  local keys, most = {}, 300
  for p = 1, 9 do keys[p] = listKey(name, p) end
  if call('EXISTS', unpack(keys)) == 0 then return false end
  for p = 9, 1, -1 do
    local items = call('LPOP', keys[p], most)
    if items then
      local ids = idsIn(items)
      for i = 1, #items do
        local j = waiting(name, p, ids[i], items[i])
        if j then put(readyKey(name, '', p), int(j.r), j.id .. j.k) end
      end
      most = most - #items
      if most <= 0 then break end
    end
  end
  writeMembers()
  return most <= 0
end

-- refresh updates the lanes that have changed since the last claim, or because of the time. It returns true if there were too many for one run: then
-- the claim has to run again.
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
  local list = {}
  for i = 1, #names, 2 do list[#list + 1] = names[i] end
  readLanes(q, list)
  for i = 1, #list do settleLane(q, openLane(q, list[i])) end
  writeMembers()
  local over = call('ZRANGEBYSCORE', P .. 'w:' .. q.name, '-inf', int(now), 'LIMIT', 0, most)
  readLanes(q, over)
  for i = 1, #over do settleLane(q, openLane(q, over[i])) end
  settleLane(q, openLane(q, ''))
  writeMembers()
  return more or #names == 2 * most or #over == most
end

-- throttleLane throttles a lane, or the whole queue if the job that requests it has no key.
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

-- bookUnits corrects the rates when a job has used n units more than it cost at its start; n is negative if it used fewer.
local function bookUnits(name, key, n)
  local q = openQueue(name)
  if q.limits.units.n > 0 then call('HSET', P .. 'q:' .. name, 'pd', int(charge(q.limits.units, q.paid, n))) end
  if key == '' or q.limits.eachKey.units.n == 0 and q.limits.overrides == 0 then return end
  local l = openLane(q, key)
  local units = ofKey(q, l).units
  if units.n == 0 then return end
  l.paid = charge(units, l.paid, n)
  saveLane(q, l)
  touch(name, key)
end
