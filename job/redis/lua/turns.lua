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

-- shares deals out n, one to each lane in turn that may start more.
local function shares(q, lanes, n)
  local want, may = {}, {}
  for i = 1, #lanes do want[i], may[i] = 0, laneLeft(q, lanes[i]) end
  while n > 0 do
    local before = n
    for i = 1, #lanes do
      if n > 0 and want[i] < may[i] then
        want[i] = want[i] + 1
        n = n - 1
      end
    end
    if n == before then break end
  end
  return want
end

-- takeLane takes up to n due jobs of a lane that have the priority and are wanted, and returns how many.
local function takeLane(q, l, p, n, wanted, begin)
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
  if #members > 0 then begin(q.name, l.key, p, members) end
  return #members
end

-- takeTurns takes up to n due jobs of a queue by priority, and of one priority in turns. It returns how many.
local function takeTurns(q, n, all, wanted, begin)
  local running = tonumber(call('HGET', P .. 'n:' .. q.name, '') or 0)
  n = math.min(n, queueLeft(q, running))
  local began, top, more = n, 9, true
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
      after = lanes[#lanes].turn
      local want, got, last = shares(q, lanes, n), {}, {}
      for i = 1, #lanes do
        got[i] = takeLane(q, lanes[i], p, want[i], wanted, begin)
        last[i] = i
      end
      -- Who has got more was last in turn.
      table.sort(last, function(a, b)
        if got[a] ~= got[b] then return got[a] < got[b] end
        return a < b
      end)
      for _, i in ipairs(last) do
        local l = lanes[i]
        if got[i] > 0 then
          q.turn = q.turn + 1
          l.turn = q.turn
          l.running = l.running + got[i]
          if l.key ~= '' then l.full = take(q.limits.keyStarts, l.full, got[i]) end
          taken = taken + got[i]
          n = n - got[i]
        end
      end
      for i = 1, #lanes do settleLane(q, lanes[i]) end
    end
  end
  q.full = take(q.limits.starts, q.full, began - n)
  return began - n
end
