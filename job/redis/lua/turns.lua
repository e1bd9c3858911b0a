-- Takes the jobs of lanes in turns, as job.TakeTurns does.

-- mostLooked bounds how many lanes and jobs that it cannot take a claim reads before it lets other scripts run. If the claim is not for all kinds,
-- these are the lanes and jobs of other kinds.
local mostLooked = 1000

-- dueAt reports whether a lane that is open at a higher priority has a due job of this one.
local function dueAt(q, key, p)
  if inOrder(q, { key = key }) then return false end
  local e = call('ZRANGE', readyKey(q.name, key, p), 0, 0, 'WITHSCORES')
  return e[1] and tonumber(e[2]) <= now
end

-- openAbove returns up to n lanes with a due job of a priority, by their turns, including lanes that are open at a higher priority but may have no
-- job of the claimed kinds there; and, if it stopped because it had read many others, the turn to continue after.
local function openAbove(q, p, from, to, n)
  local found = {}
  while true do
    local page = {}
    for above = p, 9 do
      local names = call('ZRANGEBYSCORE', P .. 'i:' .. above .. ':' .. q.name, from, to, 'WITHSCORES', 'LIMIT', 0, n)
      for i = 1, #names, 2 do page[#page + 1] = { key = names[i], turn = tonumber(names[i + 1]), priority = above } end
    end
    table.sort(page, function(a, b) return a.turn < b.turn end)
    local last = math.min(n, #page)
    for i = 1, last do
      local l = page[i]
      if l.priority == p or dueAt(q, l.key, p) then
        found[#found + 1] = openLane(q, l.key)
        if #found == n then return found end
      else
        q.looked = q.looked + 1
      end
    end
    if last < n then return found end
    if q.looked >= mostLooked then return found, #found == 0 and page[last].turn or nil end
    from = '(' .. int(page[last].turn)
  end
end

-- openLanes returns up to n lanes by their turns, and their priority: the highest one, from top down, that a lane has a due job of. If that priority
-- is top, only lanes with after < turn <= till count. If it stopped because it had read many others, it also returns the turn to continue after.
local function openLanes(q, all, top, after, till, n)
  writeMembers()
  for p = top, 1, -1 do
    local from, to = '-inf', '+inf'
    if p == top then from, to = '(' .. int(after), int(till) end
    local found, goOn = {}, nil
    if all then
      local names = call('ZRANGEBYSCORE', P .. 'i:' .. p .. ':' .. q.name, from, to, 'LIMIT', 0, n)
      readLanes(q, names)
      for i = 1, #names do found[i] = openLane(q, names[i]) end
    else
      found, goOn = openAbove(q, p, from, to, n)
    end
    if #found > 0 or goOn then return found, p, goOn end
  end
  return {}, 0
end

-- weightOf returns how many jobs of a lane start in one turn.
local function weightOf(q, l)
  if l.key == '' then return 1 end
  return ofKey(q, l).weight
end

-- begun returns how many jobs of the current turn have started. If the weight has been lowered since, one start is left.
local function begun(l, w) return math.min(l.served, w - 1) end

-- deal calls start for each lane as many times as its weight, or at first for the rest of its turn: once for all lanes, or, with again, until
-- start returns false for all of them.
local function deal(q, lanes, again, start)
  local first, more = true, true
  while more and (first or again) do
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

-- shares distributes n starts among the lanes, to each up to the rest of its turn. With all, lanes get further turns while starts are left. If
-- there are too few starts, only the first asked lanes have had their turn, and the turn of the last of them may continue.
local function shares(q, lanes, n, all)
  local want, may, asked = {}, {}, #lanes
  for i = 1, #lanes do want[i], may[i] = 0, laneLeft(q, lanes[i]) end
  deal(q, lanes, all, function(i)
    if n == 0 or want[i] >= may[i] then return false end
    want[i], n = want[i] + 1, n - 1
    return true
  end)
  if n == 0 then
    while want[asked] == 0 do asked = asked - 1 end
  end
  return want, asked
end

-- dueFrom returns up to n due members of a sorted set, from a rank on. Finding a rank costs the same anywhere in the set; reading scores costs
-- more than reading only members.
local function dueFrom(key, rank, n)
  if rank == 0 then return call('ZRANGEBYSCORE', key, '-inf', nowText, 'LIMIT', 0, n) end
  local page, found = call('ZRANGE', key, rank, rank + n - 1, 'WITHSCORES'), {}
  for i = 1, #page, 2 do
    if tonumber(page[i + 1]) > now then break end
    found[#found + 1] = page[i]
  end
  return found
end

-- findDue returns up to n wanted due jobs of a lane with the priority, after a member; if it stopped because it had read many others, the last
-- of these; whether it saw another due job after those; and whether these are all jobs of that priority.
local function findDue(q, l, p, n, wanted, behind)
  local members = {}
  if inOrder(q, l) then
    local m, holder = firstInOrder(q, l)
    if m and not holder and n > 0 and wanted(m) then
      local j = load(string.sub(m, 1, 16))
      if j and j.p == p and j.r <= now then members[1] = m end
    end
    q.looked = q.looked + 1 - #members
    return members
  end
  local key, rank = readyKey(q.name, l.key, p), 0
  if behind then rank = (call('ZRANK', key, behind) or -1) + 1 end
  local size = math.min(n + 1, 100) -- mostly enough at first: the wanted ones and one more
  while #members < n do
    local page = dueFrom(key, rank, size)
    for i = 1, #page do
      if #members == n then return members, nil, true end
      if wanted(page[i]) then
        members[#members + 1] = page[i]
      else
        q.looked = q.looked + 1
      end
    end
    if #page < size then return members, nil, false, #members == call('ZCARD', key) end
    if q.looked >= mostLooked then return members, page[#page] end
    rank, size = rank + size, 100
  end
  return members
end

-- affordable shortens the lists of found jobs to those that may start: a job may start while any unit is left of its queue and its key. It returns
-- the total cost of the jobs of each lane.
local function affordable(q, lanes, found)
  local costs, may, paid, queue = {}, {}, {}, q.paid
  for i = 1, #lanes do costs[i], may[i], paid[i] = 0, 0, lanes[i].paid end
  deal(q, lanes, true, function(i)
    local l, m = lanes[i], found[i][may[i] + 1]
    local of = l.key == '' and none.units or ofKey(q, l).units
    if not m or usedUp(q.limits.units, queue) or usedUp(of, paid[i]) then return false end
    local j = load(string.sub(m, 1, 16))
    local cost = j and more(j).co or 0
    queue, paid[i] = charge(q.limits.units, queue, cost), charge(of, paid[i], cost)
    may[i], costs[i] = may[i] + 1, costs[i] + cost
    return true
  end)
  for i = 1, #lanes do
    for m = #found[i], may[i] + 1, -1 do found[i][m] = nil end
  end
  return costs
end

-- endTurns gives a new turn, at the end of the line, to lanes that have used up theirs.
local function endTurns(q, lanes, got)
  local last, ended = {}, {}
  for i, l in ipairs(lanes) do
    local w = weightOf(q, l)
    local all = begun(l, w) + got[i]
    last[i], ended[i], l.served = i, math.floor(all / w), all % w
  end
  -- The lane whose turns ended most often was served last.
  for i = 2, #last do
    if ended[i] < ended[i - 1] then
      table.sort(last, function(a, b)
        if ended[a] ~= ended[b] then return ended[a] < ended[b] end
        return a < b
      end)
      break
    end
  end
  for _, i in ipairs(last) do
    if ended[i] > 0 then
      q.turn = q.turn + 1
      lanes[i].turn = q.turn
    end
  end
end

-- takeTurns takes up to n due jobs of a queue by priority, and within a priority in turns. begin reports whether the answer is large enough. It
-- returns how many it took and, if it stopped to let other scripts run, the priority and the further arguments to continue with.
local function takeTurns(q, n, all, wanted, begin, priority, rest)
  local running = tonumber(call('HGET', P .. 'n:' .. q.name, '') or 0)
  n = math.min(n, queueLeft(q, running))
  q.looked = 0
  local total, top, more, stopped = 0, 9, true, nil
  local taken, after, till, behind = 0, 0, q.turn, nil
  if priority > 0 then
    local a, t, some, m = string.match(rest, '^(%d+) (%d+) (%d+) (.*)$')
    top, after, till, taken = priority, tonumber(a), tonumber(t), tonumber(some)
    if m ~= '' then behind = m end
  end
  local ofUnits = q.limits.units.n > 0 or q.limits.eachKey.units.n > 0 or q.limits.overrides > 0
  while more and n > 0 and not stopped do
    more = false
    while n > 0 and not stopped do
      local lanes, p, goOn = openLanes(q, all, top, after, till, n)
      if p ~= top and taken > 0 then
        more = true -- repeat this priority while it has jobs
        break
      end
      if goOn then
        top, stopped = p, int(goOn)
        break
      end
      if #lanes == 0 then break end
      local first = after == 0 or p ~= top
      top = p
      local want, asked = shares(q, lanes, n, first and #lanes < n) -- a lane may start more than its turn only if these are all lanes
      local found, goesOn, isAll, got, last = {}, {}, {}, {}, nil
      for i = 1, #lanes do
        found[i] = {}
        if i <= asked and not last then
          local sure
          found[i], last, goesOn[i], sure = findDue(q, lanes[i], p, want[i], wanted, behind)
          isAll[i] = sure and #found[i]
          behind = nil
          if last and #found[i] > 0 then last = nil end
          if last or q.looked >= mostLooked then asked = i end
        end
      end
      local turn = lanes[asked].turn
      after = turn
      if last then
        stopped, behind = int(turn - 1), last
      elseif q.looked >= mostLooked then
        stopped = int(after)
      end
      local ids = {}
      for i = 1, #lanes do
        for _, m in ipairs(found[i]) do ids[#ids + 1] = string.sub(m, 1, 16) end
      end
      fetch(ids)
      local costs = ofUnits and affordable(q, lanes, found)
      if begin(q.name, lanes, p, found) then stopped = stopped or int(after) end
      for i = 1, #lanes do got[i] = #found[i] end
      endTurns(q, lanes, got)
      if lanes[asked].turn == turn and got[asked] > 0 and got[asked] == want[asked] then after = turn - 1 end -- the last lane has not used up its turn
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
      for i = 1, #lanes do
        if all and goesOn[i] and laneLeft(q, lanes[i]) > 0 then
          keepInLine(q, lanes[i])
        elseif all or got[i] > 0 then
          settleLane(q, lanes[i], isAll[i] == got[i] and p or nil)
        end
      end
    end
    if not stopped then taken, after, till = 0, 0, q.turn end
  end
  q.full = take(q.limits.starts, q.full, total)
  if stopped and n > 0 then return total, top, stopped .. ' ' .. int(till) .. ' ' .. taken .. ' ' .. (behind or '') end
  return total
end
