-- Claims jobs. ARGV: the steps to run ("b" starts the session, "e" takes jobs whose lease has expired, "d" due ones), worker, session, call, since,
-- lease, kinds as JSON or "", the limit, where to continue in the first queue (priority, member), then queues, each with its limit. Returns whether
-- the claim counts, the jobs that calls without an answer took, jobs whose lease had expired, the workers that had them, due jobs, the number of
-- the queue of each of these two, the time until the next job may start (-1 for never), the number of the queue to continue with (0 if all is
-- done), where in it (priority, member), whether expired leases remain, and which of "e" and "d" to continue.
local todo, worker, session = ARGV[1], ARGV[2], ARGV[3]
local number, since, lease = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local limit, resumeAt, resumeMember = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10]
local queues = {}
for i = 11, #ARGV, 2 do queues[#queues + 1] = { name = ARGV[i], left = tonumber(ARGV[i + 1]) } end

local kinds
if ARGV[7] ~= '' then
  kinds = {}
  for _, k in ipairs(cjson.decode(ARGV[7])) do kinds[k] = true end
end
local function wanted(member, kind) return not kinds or kinds[kind or string.sub(member, 17)] end

-- allWanted reports whether the claim is for every kind that is queued.
local function allWanted(q)
  if not kinds then return true end
  local names = call('SMEMBERS', P .. 'classes')
  local from = 'queued\n' .. q .. '\n'
  for i = 1, #names do
    if string.sub(names[i], 1, #from) == from and not kinds[string.sub(names[i], #from + 1)] and call('ZCARD', P .. 'c:' .. names[i]) > 0 then return false end
  end
  return true
end

evenFull()
local again, expired, workers, due, ofExpired, ofDue = {}, {}, {}, {}, {}, {}
local remain = false

-- Each run checks whether the call still counts: the server may receive a later run when the worker has given up the call, or the session has ended.
if number < tonumber(call('HGET', P .. 'from', session) or 0) then return { 0 } end
if string.find(todo, 'b', 1, true) then
  if since > 0 then call('HSET', P .. 'from', session, number) end
  if since > 0 or over(session) then renewLease(session, lease) end
  if since > 0 then
    for _, batch in ipairs(call('ZRANGEBYSCORE', P .. 'h:' .. session, since, '+inf')) do
      for _, j in ipairs(inBatch(session, batch)) do whole(again, j) end
    end
    limit = limit - #again / 2
  end
elseif over(session) then
  return { 0 }
end

-- take assigns a job to the session, and adds it to the answer. At the end, the script stores all taken jobs as a batch.
local batch, bytes, most = {}, 0, 4000000
local function take(list, of, i, j)
  bytes = bytes + #j.kept
  if has(j, hasArgs) then bytes = bytes + call('HSTRLEN', A, j.id) end
  j.s, j.n, j.st, j.w = 'running', j.n + 1, now, worker
  save(j)
  batch[#batch + 1], list[#list + 1], of[#of + 1] = j, j, i
end

-- mostSeen bounds how many jobs that it cannot take a claim reads before it lets other scripts run.
local mostSeen = 2000

local stopAt, stopPriority, stopMember, stopIn = 0, 0, '', ''

-- takeExpired takes jobs of a queue whose lease has expired. If it has read many others, it returns the priority and the member to continue
-- with.
local isOver = {}
local function takeExpired(i, q, first, resume)
  local seen = 0
  for p = first, 1, -1 do
    local key, rank = P .. 'e:' .. p .. ':' .. q.name, 0
    if p == first and resume ~= '' then rank = (call('ZRANK', key, resume) or -1) + 1 end
    while q.left > 0 and limit > 0 and bytes < most do
      local page, ids = call('ZRANGE', key, rank, rank + 99), {}
      for n = 1, #page do
        if wanted(page[n]) then ids[#ids + 1] = string.sub(page[n], 1, 16) end
      end
      fetch(ids)
      local last
      for n = 1, #page do
        local member = page[n]
        if not wanted(member) then
          rank, seen, last = rank + 1, seen + 1, member
        elseif q.left > 0 and limit > 0 and bytes < most then
          local j = load(string.sub(member, 1, 16))
          call('ZREM', key, member)
          if j and j.s == 'running' and isOver[j.se] == nil then isOver[j.se] = over(j.se) end
          if j and j.s == 'running' and isOver[j.se] then
            workers[#workers + 1] = j.w
            leaveBatch(j)
            if j.x then
              call('SREM', P .. 'x:' .. j.se, j.id)
              call('SADD', P .. 'x:' .. session, j.id)
            end
            j.di, j.xp, j.all = j.di + 1, false, true
            take(expired, ofExpired, i, j)
            q.left, limit = q.left - 1, limit - 1
          elseif j and j.xp then
            j.xp = false
            save(j)
          end
        end
      end
      if #page < 100 then break end
      if last and seen >= mostSeen then return p, last end
    end
  end
end

local held = {}
for _, q in ipairs(queues) do
  local v = call('HMGET', P .. 'q:' .. q.name, 'pa', 'he')
  if v[1] then q.left = 0 end
  held[q.name] = v[2] and tonumber(v[2]) > now
end

if string.find(todo, 'e', 1, true) then
  remain = noteExpired()
  for i, q in ipairs(queues) do
    local p, member
    if i == 1 and resumeAt > 0 then
      p, member = takeExpired(i, q, resumeAt, resumeMember)
    else
      p, member = takeExpired(i, q, 9, '')
    end
    if p then
      stopAt, stopPriority, stopMember, stopIn = i, p, member, 'e'
      break
    end
  end
  resumeAt, resumeMember = 0, ''
end

local at

-- start assigns queued jobs, which have been removed from the sorted sets of ready jobs, to the session. It reports whether the answer is
-- large enough.
local function start(q, l, list)
  for n = 1, #list do
    local j = list[n]
    leaveClass(j)
    take(due, ofDue, at, j)
    enterClass(j)
  end
  count(q, l, #list)
  return bytes >= most
end

-- begin starts jobs of lanes. found has their members in the sets of each lane.
local function begin(q, lanes, p, found)
  local keyed = {}
  for i = 1, #lanes do
    local l, members = lanes[i].key, found[i]
    if #members > 0 then
      call('ZREM', readyKey(q, l, p), unpack(members))
      if l ~= '' then call('ZREM', orderKey(q, l), unpack(members)) end
      local list = {}
      for n = 1, #members do
        local id = string.sub(members[n], 1, 16)
        if l ~= '' then keyed[#keyed + 1] = id end
        list[#list + 1] = load(id)
      end
      start(q, l, list)
    end
  end
  if #keyed > 0 then call('ZREM', P .. 'k:' .. q, unpack(keyed)) end
  return bytes >= most
end

-- setAside moves jobs that other claims should take from a list to the sorted set.
local function setAside(key, list)
  local args = {}
  for n = 1, #list do
    args[#args + 1] = int(list[n].r)
    args[#args + 1] = list[n].id .. list[n].k
  end
  if #args > 0 then call('ZADD', key, unpack(args)) end
end

-- fromList takes up to n jobs from a list, if no other jobs of the priority are due. It returns how many it took, and how many it read.
local function fromList(q, p, n)
  local items = call('LPOP', listKey(q, p), n)
  if not items then return 0, 0 end
  local ids, list, others = idsIn(items), {}, {}
  for i = 1, #items do
    local j = waiting(q, p, ids[i], items[i])
    if j and wanted(nil, j.k) then
      list[#list + 1] = j
    elseif j then
      others[#others + 1] = j
    end
  end
  if #list > 0 then start(q, '', list) end
  setAside(readyKey(q, '', p), others)
  return #list, #items
end

-- fromBoth takes up to n jobs from a list and from the sorted set, in the order of their due times. It returns how many it took and how many it read;
-- where in the sorted set to continue, by rank, and the last member before that; and whether there may be more.
local function fromBoth(q, p, n, rank, last)
  local key, list = readyKey(q, '', p), listKey(q, p)
  local page, items = call('ZRANGE', key, rank, rank + n - 1, 'WITHSCORES'), call('LRANGE', list, 0, n - 1)
  local ids = {}
  for i = 1, #page, 2 do
    if tonumber(page[i + 1]) > now then break end
    if wanted(page[i]) then ids[#ids + 1] = string.sub(page[i], 1, 16) end
  end
  for i = 1, #items do ids[#ids + 1] = string.sub(items[i], 1, 16) end
  fetch(ids)
  local chosen, members, others, known, seen, skipped = {}, {}, {}, {}, 0, 0
  local a, b = 1, 1
  while #chosen < n do
    local member, score = page[a], tonumber(page[a + 1])
    local item = items[b]
    if member and score > now then member = nil end
    -- If all items read from one side are used up, but it may have more, the other side has to wait.
    if not member and (#page == 2 * n and a > #page) or not item and #items == n and b > n then break end
    if not member and not item then break end
    local dueAt = item and struct.unpack('>d', item, 17)
    seen = seen + 1
    if member and (not item or score < dueAt or score == dueAt and not idLess(item, member)) then
      a = a + 2
      if wanted(member) then
        local j = load(string.sub(member, 1, 16))
        members[#members + 1] = member
        if j then
          chosen[#chosen + 1], known[j.id] = j, true
        end
      else
        skipped, last = skipped + 1, member
      end
    else
      b = b + 1
      local j = waiting(q, p, string.sub(item, 1, 16), item)
      if j and not known[j.id] then
        if wanted(nil, j.k) then
          chosen[#chosen + 1] = j
          members[#members + 1] = j.id .. j.k -- the member may be in both
        else
          others[#others + 1] = j
        end
      end
    end
  end
  if b > 1 then call('LTRIM', list, b - 1, -1) end
  if #members > 0 then call('ZREM', key, unpack(members)) end
  if #chosen > 0 then start(q, '', chosen) end
  setAside(key, others)
  return #chosen, seen, rank + skipped, last, seen > 0
end

-- takePlain takes up to n due jobs from a queue without lanes. It returns how many and, if it stopped to let other scripts run, the priority and the
-- member to continue with.
local function takePlain(q, n)
  local taken, seen, first = 0, 0, 9
  if at == 1 and resumeAt > 0 then first = resumeAt end
  for p = first, 1, -1 do
    local key, rank, last = readyKey(q, '', p), 0, nil
    if at == 1 and p == resumeAt and resumeMember ~= '' then
      local r = call('ZRANK', key, resumeMember)
      if r then rank = r + 1 end
    end
    local goOn = true
    while goOn and taken < n do
      local head = call('ZRANGE', key, rank, rank, 'WITHSCORES')
      local got, looked
      if head[1] and tonumber(head[2]) <= now then
        got, looked, rank, last, goOn = fromBoth(q, p, math.min(n - taken, 250), rank, last)
      else
        got, looked = fromList(q, p, math.min(n - taken, 250))
        goOn = looked > 0
      end
      taken, seen = taken + got, seen + looked
      if goOn and taken < n and (seen >= mostSeen or bytes >= most) then return taken, p, last or '' end
    end
  end
  return taken
end

-- plainNext returns when the next job that is not due yet will be.
local function plainNext(q)
  local first
  for p = 1, 9 do
    local e = call('ZRANGEBYSCORE', readyKey(q, '', p), '(' .. int(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    if e[1] and (not first or tonumber(e[2]) < first) then first = tonumber(e[2]) end
  end
  return first
end

local soonest
if string.find(todo, 'd', 1, true) and stopAt == 0 then
  for i, q in ipairs(queues) do
    at = i
    if limit <= 0 then break end
    if bytes >= most then
      stopAt, stopIn = i, 'd'
      break
    end
    local n, first = math.min(q.left, limit), nil
    if n > 0 then
      local taken
      if limitsOf(q.name) or held[q.name] or call('EXISTS', P .. 'k:' .. q.name) == 1 then
        local lanes = openQueue(q.name)
        local p, rest = 0, ''
        if i == 1 then p, rest = resumeAt, resumeMember end
        if absorb(q.name) or refresh(lanes) then
          saveQueue(lanes)
          stopAt, stopPriority, stopMember, stopIn = i, p, rest, 'd'
          break
        end
        taken, p, rest = takeTurns(lanes, n, allWanted(q.name), wanted, begin, p, rest)
        saveQueue(lanes)
        if p then
          limit = limit - taken
          stopAt, stopPriority, stopMember, stopIn = i, p, rest, 'd'
          break
        end
        if queueLeft(lanes, tonumber(call('HGET', P .. 'n:' .. q.name, '') or 0) + taken) <= 0 then
          first = queueNext(lanes)
        else
          writeMembers()
          local e = call('ZRANGE', P .. 'w:' .. q.name, 0, 0, 'WITHSCORES')
          if e[1] then first = tonumber(e[2]) end
        end
      else
        local p, member
        taken, p, member = takePlain(q.name, n)
        if p then
          limit = limit - taken
          stopAt, stopPriority, stopMember, stopIn = i, p, member, 'd'
          break
        end
        if taken < n then first = plainNext(q.name) end
      end
      limit = limit - taken
      if first and first > now and (not soonest or first < soonest) then soonest = first end
    end
  end
end
holdBatch(session, number, batch)
local answers = { {}, {} }
for i = 1, #expired do whole(answers[1], expired[i]) end
for i = 1, #due do whole(answers[2], due[i]) end
done()
local wait = '-1'
if soonest then wait = int(soonest - now) end
return { 1, again, answers[1], workers, answers[2], ofExpired, ofDue, wait, stopAt, stopPriority, stopMember, remain and 1 or 0, stopIn }
