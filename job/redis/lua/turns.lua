-- The jobs of lanes are taken in turns, as job.TakeTurns does.

-- openLanes returns up to n lanes with a due job of the highest priority, from top down, that any has one of, by their turns, and that priority. Of
-- the priority top only those whose turn is more than after and at most till count.
local function openLanes(q, all, top, after, till, n)
  for p = top, 1, -1 do
    local found = {}
    for above = p, (all and p or 9) do -- where not all kinds are claimed, a lane may have had none of them where it is open
      local from, to = '-inf', '+inf'
      if p == top then from, to = '(' .. int(after), int(till) end
      local names
      if above == p then
        names = call('ZRANGEBYSCORE', P .. 'i:' .. above .. ':' .. q.name, from, to, 'LIMIT', 0, n)
      else
        names = call('ZRANGEBYSCORE', P .. 'i:' .. above .. ':' .. q.name, from, to)
      end
      for i = 1, #names do
        local l = openLane(q, names[i])
        local ok = above == p
        if not ok and not inOrder(q, l) then
          local e = call('ZRANGE', readyKey(q.name, l.key, p), 0, 0, 'WITHSCORES')
          ok = e[1] and tonumber(e[2]) <= now
        end
        if ok then found[#found + 1] = l end
      end
    end
    if #found > 0 then
      table.sort(found, function(a, b) return a.turn < b.turn end)
      for i = #found, n + 1, -1 do found[i] = nil end
      return found, p
    end
  end
  return {}, 0
end

-- weightOf returns how many jobs of a lane start in one turn.
local function weightOf(q, l)
  if l.key == '' then return 1 end
  return ofKey(q, l).weight
end

-- begun returns how many jobs of its turn have started. Where the weight was lowered since, one is left.
local function begun(l, w) return math.min(l.served, w - 1) end

-- deal has each lane in turn start as many jobs as its weight, at first what is left of its turn, for as long as start starts any.
local function deal(q, lanes, start)
  local first, more = true, true
  while more do
    more = false
    for i, l in ipairs(lanes) do
      local n = weightOf(q, l)
      if first then n = n - begun(l, n) end
      while n > 0 and start(i) do
        n, more = n - 1, true
      end
    end
    first = false
  end
end

-- shares deals out n among the lanes that may start more. Where that is not enough for all, the first asked of them have had their turn.
local function shares(q, lanes, n)
  local want, may, asked = {}, {}, #lanes
  for i = 1, #lanes do want[i], may[i] = 0, laneLeft(q, lanes[i]) end
  deal(q, lanes, function(i)
    if n == 0 or want[i] >= may[i] then return false end
    want[i], n = want[i] + 1, n - 1
    return true
  end)
  if n == 0 then
    while want[asked] == 0 do asked = asked - 1 end
  end
  return want, asked
end

-- findDue returns up to n due jobs of a lane that have the priority and are wanted.
local function findDue(q, l, p, n, wanted)
  local members = {}
  if inOrder(q, l) then
    local m = call('ZRANGE', orderKey(q.name, l.key), 0, 0)[1]
    if m and n > 0 and wanted(m) then
      local v = call('HMGET', jobKey(string.sub(m, 1, 16)), 'p', 'r')
      if tonumber(v[1]) == p and tonumber(v[2]) <= now then members[1] = m end
    end
  else
    local rank, more = 0, n > 0
    while more do
      local page = call('ZRANGE', readyKey(q.name, l.key, p), rank, rank + 99, 'WITHSCORES')
      for i = 1, #page, 2 do
        if tonumber(page[i + 1]) > now or #members == n then
          more = false
          break
        end
        if wanted(page[i]) then members[#members + 1] = page[i] end
      end
      rank = rank + 100
      more = more and #page == 200
    end
  end
  return members
end

-- affordable shortens the lists of jobs that were found to those that may start: one may while any unit is left of the queue and of its key. It
-- returns what those of each lane cost together.
local function affordable(q, lanes, found)
  local costs, may, paid, queue = {}, {}, {}, q.paid
  for i = 1, #lanes do costs[i], may[i], paid[i] = 0, 0, lanes[i].paid end
  deal(q, lanes, function(i)
    local l, m = lanes[i], found[i][may[i] + 1]
    local of = l.key == '' and none.units or ofKey(q, l).units
    if not m or usedUp(q.limits.units, queue) or usedUp(of, paid[i]) then return false end
    local cost = tonumber(call('HGET', jobKey(string.sub(m, 1, 16)), 'co') or 0)
    queue, paid[i] = charge(q.limits.units, queue, cost), charge(of, paid[i], cost)
    may[i], costs[i] = may[i] + 1, costs[i] + cost
    return true
  end)
  for i = 1, #lanes do
    for m = #found[i], may[i] + 1, -1 do found[i][m] = nil end
  end
  return costs
end

-- endTurns gives lanes that have used up their turns new ones, at the end.
local function endTurns(q, lanes, got)
  local last, ended = {}, {}
  for i, l in ipairs(lanes) do
    local w = weightOf(q, l)
    local all = begun(l, w) + got[i]
    last[i], ended[i], l.served = i, math.floor(all / w), all % w
  end
  -- Whose turns ended more often was last in turn.
  table.sort(last, function(a, b)
    if ended[a] ~= ended[b] then return ended[a] < ended[b] end
    return a < b
  end)
  for _, i in ipairs(last) do
    if ended[i] > 0 then
      q.turn = q.turn + 1
      lanes[i].turn = q.turn
    end
  end
end

-- takeTurns takes up to n due jobs of a queue by priority, and of one priority in turns. It returns how many.
local function takeTurns(q, n, all, wanted, begin)
  local running = tonumber(call('HGET', P .. 'n:' .. q.name, '') or 0)
  n = math.min(n, queueLeft(q, running))
  local total, top, more = 0, 9, true
  local ofUnits = q.limits.units.n > 0 or q.limits.eachKey.units.n > 0 or q.limits.overrides > 0
  while more and n > 0 do
    more = false
    local taken, after, till = 0, 0, q.turn
    while n > 0 do
      local lanes, p = openLanes(q, all, top, after, till, n)
      if #lanes == 0 or p ~= top and taken > 0 then
        more = taken > 0 -- as long as this priority gives any, it is asked again
        break
      end
      top = p
      local want, asked = shares(q, lanes, n)
      local found, got = {}, {}
      after = lanes[asked].turn
      for i = 1, #lanes do found[i] = findDue(q, lanes[i], p, want[i], wanted) end
      local costs = ofUnits and affordable(q, lanes, found)
      for i = 1, #lanes do
        if #found[i] > 0 then begin(q.name, lanes[i].key, p, found[i]) end
        got[i] = #found[i]
      end
      endTurns(q, lanes, got)
      local cost = 0
      for i, l in ipairs(lanes) do
        if got[i] > 0 then
          l.running = l.running + got[i]
          if l.key ~= '' then l.full = take(ofKey(q, l).starts, l.full, got[i]) end
          if costs then
            if l.key ~= '' then l.paid = charge(ofKey(q, l).units, l.paid, costs[i]) end
            cost = cost + costs[i]
          end
          taken, total, n = taken + got[i], total + got[i], n - got[i]
        end
      end
      q.paid = charge(q.limits.units, q.paid, cost)
      if usedUp(q.limits.units, q.paid) then n = 0 end
      for i = 1, #lanes do settleLane(q, lanes[i]) end
    end
  end
  q.full = take(q.limits.starts, q.full, total)
  return total
end
