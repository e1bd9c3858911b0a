-- Claims jobs. ARGV: what to do ("b" begins the session, "e" takes jobs whose lease is over, "d" due ones), worker, session, call, since, lease,
-- kinds as JSON or "", how many at most, where to go on in the first queue (priority, member), then queues, each with its limit. Returns
--   whether the claim counts, the jobs that were taken by calls without an answer, jobs whose lease was over, the workers that had them, due
--   jobs as they were until now, the number of the queue of each of these two, how long until the next may start (-1 for never), the number of the queue to go on with (0 when
--   all is done), where in it (priority, member), whether leases that are over remain, and the time.
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
local function wanted(member) return not kinds or kinds[string.sub(member, 17)] end

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

if string.find(todo, 'b', 1, true) then
  local from = tonumber(call('HGET', P .. 'from', session) or 0)
  if number < from then return { 0 } end
  if since > 0 then call('HSET', P .. 'from', session, number) end
  if since > 0 or over(session) then renewLease(session, lease) end
  if since > 0 then
    local ids = call('ZRANGEBYSCORE', P .. 'h:' .. session, since, '+inf')
    for i = 1, #ids do again[i] = whole(ids[i]) end
    limit = limit - #again
  end
end

local bytes = 0
-- give adds a job to a list of the answer, and its queue to another. It returns how many attempts the job has had.
local function give(list, of, i, id)
  local v, size, n = whole(id)
  bytes = bytes + size
  list[#list + 1] = v
  of[#of + 1] = i
  return n
end
local most = 4000000

for _, q in ipairs(queues) do
  if call('HGET', P .. 'q:' .. q.name, 'pa') then q.left = 0 end
end

if string.find(todo, 'e', 1, true) then
  remain = noteExpired()
  for i, q in ipairs(queues) do
    for p = 9, 1, -1 do
      local key, rank = P .. 'e:' .. p .. ':' .. q.name, 0
      while q.left > 0 and limit > 0 and bytes < most do
        local page = call('ZRANGE', key, rank, rank + 99)
        for n = 1, #page do
          local member = page[n]
          local id = string.sub(member, 1, 16)
          if not wanted(member) then
            rank = rank + 1
          elseif q.left > 0 and limit > 0 and bytes < most then
            local j = load(id)
            call('ZREM', key, member)
            call('HDEL', jobKey(id), 'xp')
            if j and over(j.se) then
              workers[#workers + 1] = call('HGET', jobKey(id), 'w')
              call('ZREM', P .. 'h:' .. j.se, id)
              call('ZADD', P .. 'h:' .. session, number, id)
              if j.x then
                call('SREM', P .. 'x:' .. j.se, id)
                call('SADD', P .. 'x:' .. session, id)
              end
              call('HINCRBY', jobKey(id), 'di', 1)
              call('HINCRBY', jobKey(id), 'n', 1)
              call('HSET', jobKey(id), 'st', int(now), 'w', worker, 'se', session, 'ca', int(number))
              give(expired, ofExpired, i, id)
              q.left, limit = q.left - 1, limit - 1
            end
          end
        end
        if #page < 100 then break end
      end
    end
  end
end

local at
-- begin makes queued jobs of a lane those of the session. It reports whether the answer is large enough.
local function begin(q, l, p, members)
  local ids, byKind, args = {}, {}, {}
  for n = 1, #members do
    local id, kind = string.sub(members[n], 1, 16), string.sub(members[n], 17)
    ids[n] = id
    byKind[kind] = byKind[kind] or {}
    table.insert(byKind[kind], id)
    args[#args + 1] = int(number)
    args[#args + 1] = id
  end
  call('ZREM', readyKey(q, l, p), unpack(members))
  if l ~= '' then
    call('ZREM', orderKey(q, l), unpack(members))
    call('ZREM', P .. 'k:' .. q, unpack(ids))
  end
  for kind, some in pairs(byKind) do
    call('ZREM', classKey('queued', q, kind), unpack(some))
    local scored = {}
    for n = 1, #some do
      scored[#scored + 1] = 0
      scored[#scored + 1] = some[n]
    end
    call('ZADD', classKey('running', q, kind), unpack(scored))
    classes[className('running', q, kind)] = true
  end
  call('ZADD', P .. 'h:' .. session, unpack(args))
  count(q, l, #ids)
  local by = int(number)
  for n = 1, #ids do
    local attempts = give(due, ofDue, at, ids[n])
    call('HSET', jobKey(ids[n]), 's', 'running', 'n', attempts + 1, 'st', nowText, 'w', worker, 'se', session, 'ca', by)
  end
  return bytes >= most
end

-- takePlain takes up to n due jobs of a queue without lanes. It returns how many, and, when it has looked at so many that others should have
-- their turn, the priority and the member to go on with.
local function takePlain(q, n)
  local taken, seen, first = 0, 0, 9
  if at == 1 and resumeAt > 0 then first = resumeAt end
  for p = first, 1, -1 do
    local key, rank = readyKey(q, '', p), 0
    if at == 1 and p == resumeAt and resumeMember ~= '' then
      local r = call('ZRANK', key, resumeMember)
      if r then rank = r + 1 end
    end
    local more = true
    while more and taken < n do
      local size = math.min(kinds and 100 or n - taken, 50)
      local page = call('ZRANGE', key, rank, rank + size - 1, 'WITHSCORES')
      local members, last = {}, nil
      for i = 1, #page, 2 do
        if tonumber(page[i + 1]) > now or taken + #members == n then
          more = false
          break
        end
        if wanted(page[i]) then
          members[#members + 1] = page[i]
        else
          rank, last = rank + 1, page[i]
        end
        seen = seen + 1
      end
      if #members > 0 then begin(q, '', p, members) end
      taken = taken + #members
      more = more and #page == 2 * size
      if more and taken < n and (seen >= 2000 or bytes >= most) then return taken, p, last or '' end
    end
  end
  return taken
end

-- plainNext returns when the first job that is not due yet becomes so.
local function plainNext(q)
  local first
  for p = 1, 9 do
    local e = call('ZRANGEBYSCORE', readyKey(q, '', p), '(' .. int(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    if e[1] and (not first or tonumber(e[2]) < first) then first = tonumber(e[2]) end
  end
  return first
end

local soonest
local stopAt, stopPriority, stopMember = 0, 0, ''
if string.find(todo, 'd', 1, true) then
  for i, q in ipairs(queues) do
    at = i
    if limit <= 0 then break end
    if bytes >= most then
      stopAt = i
      break
    end
    local n, first = math.min(q.left, limit), nil
    if n > 0 then
      local taken
      local held = call('HGET', P .. 'q:' .. q.name, 'he')
      if limitsOf(q.name) or held and tonumber(held) > now or call('EXISTS', P .. 'k:' .. q.name) == 1 then
        local lanes = openQueue(q.name)
        local p, rest = 0, ''
        if i == 1 then p, rest = resumeAt, resumeMember end
        if refresh(lanes) then
          saveQueue(lanes)
          stopAt, stopPriority, stopMember = i, p, rest
          break
        end
        taken, p, rest = takeTurns(lanes, n, allWanted(q.name), wanted, begin, p, rest)
        saveQueue(lanes)
        if p then
          limit = limit - taken
          stopAt, stopPriority, stopMember = i, p, rest
          break
        end
        if queueLeft(lanes, tonumber(call('HGET', P .. 'n:' .. q.name, '') or 0) + taken) <= 0 then
          first = queueNext(lanes)
        else
          local e = call('ZRANGE', P .. 'w:' .. q.name, 0, 0, 'WITHSCORES')
          if e[1] then first = tonumber(e[2]) end
        end
      else
        local p, member
        taken, p, member = takePlain(q.name, n)
        if p then
          limit = limit - taken
          stopAt, stopPriority, stopMember = i, p, member
          break
        end
        if taken < n then first = plainNext(q.name) end
      end
      limit = limit - taken
      if first and first > now and (not soonest or first < soonest) then soonest = first end
    end
  end
end
done()
local wait = '-1'
if soonest then wait = int(soonest - now) end
return { 1, again, expired, workers, due, ofExpired, ofDue, wait, stopAt, stopPriority, stopMember, remain and 1 or 0, nowText }
