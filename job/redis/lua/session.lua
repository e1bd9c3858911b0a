-- A session holds its jobs until its lease, in "leases", has expired. The first claim after that lists the jobs in "e:" by queue and priority, a
-- few hundred at a time, and removes the session from "leases".

local function over(session)
  local till = call('ZSCORE', P .. 'leases', session)
  return not till or tonumber(till) <= now
end

local function renewLease(session, lease)
  local till = int(now + lease)
  call('ZADD', P .. 'leases', till, session)
  call('ZADD', P .. 'sessions', till, session)
  call('HDEL', P .. 'noting', session)
end

-- noteExpired lists the jobs of sessions whose lease has expired. It returns true if there are more.
local function noteExpired()
  local most = 300
  local found = call('ZRANGEBYSCORE', P .. 'leases', '-inf', nowText, 'LIMIT', 0, 50)
  for i = 1, #found do
    local session = found[i]
    local held = P .. 'h:' .. session
    -- Start from the end: jobs that the session settles between two runs move only the jobs that come after them.
    local at = tonumber(call('HGET', P .. 'noting', session) or call('ZCARD', held))
    while at > 0 and most > 0 do
      at = at - 1
      local batch = call('ZRANGE', held, at, at)[1]
      if batch then
        local list, n = inBatch(session, batch)
        for _, j in ipairs(list) do
          if not j.xp then
            put(P .. 'e:' .. j.p .. ':' .. j.q, int(j.r), j.id .. j.k)
            j.xp = true
            save(j)
          end
        end
        most = most - math.max(n, 10)
      end
    end
    if at > 0 then
      call('HSET', P .. 'noting', session, at)
      writeMembers()
      return true
    end
    call('HDEL', P .. 'noting', session)
    call('ZREM', P .. 'leases', session)
  end
  writeMembers()
  return #found == 50
end
