-- A session holds its jobs as long as its lease, in "leases", is not over. When a claim sees that it is, it notes the jobs in "e:" by queue and
-- priority, some hundred at a time, and takes the session from "leases".

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

-- noteExpired notes jobs of sessions that are over. It returns true when there are more.
local function noteExpired()
  local left = 300
  local found = call('ZRANGEBYSCORE', P .. 'leases', '-inf', int(now), 'LIMIT', 0, 50)
  for i = 1, #found do
    local session = found[i]
    local held = P .. 'h:' .. session
    -- From the end: what the session settles meanwhile moves only those that are still to come.
    local at = tonumber(call('HGET', P .. 'noting', session) or call('ZCARD', held))
    while at > 0 and left > 0 do
      local from = math.max(at - 50, 0)
      local ids = call('ZRANGE', held, from, at - 1)
      for n = 1, #ids do
        local j = load(ids[n])
        call('ZADD', P .. 'e:' .. j.p .. ':' .. j.q, j.r, j.id .. j.k)
        call('HSET', jobKey(j.id), 'xp', '1')
      end
      left = left - (at - from)
      at = from
    end
    if at > 0 then
      call('HSET', P .. 'noting', session, at)
      return true
    end
    call('HDEL', P .. 'noting', session)
    call('ZREM', P .. 'leases', session)
  end
  return #found == 50
end
