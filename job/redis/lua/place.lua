-- Where a job is listed in each of its states.

-- holdLane makes a discarded job hold its lane, if the jobs behind it have to wait for it.
local function holdLane(j)
  local limits = limitsOf(j.q)
  if j.l == '' or not limits or not limits.hold then return end
  local epoch = call('HGET', P .. 'q:' .. j.q, 'hd')
  put(holdKey(epoch, j.q, j.l), int(j.c), j.id)
  j.ho = epoch
  save(j, true)
end

-- releaseLane is called when a job is no longer discarded.
local function releaseLane(j)
  if j.ho == '' then return end
  put(holdKey(j.ho, j.q, j.l), false, j.id)
  j.ho = ''
  save(j, true)
  touch(j.q, j.l)
  wake(j.q)
end

-- ready lists a queued job where claims find it, if it is not listed yet.
local function ready(j)
  local m = j.id .. j.k
  if j.l == '' and j.r == now and not limitsOf(j.q) then
    local key = listKey(j.q, j.p)
    if j.listed ~= key then -- a job that was replaced by another one of the same call is listed already: otherwise a claim would take it twice
      j.listed = key
      addTo(lists, key, j.id .. dueNow)
    end
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

-- link lists a queued or finished job as it is now. The caller saves it.
local function link(j)
  if j.s == 'queued' then
    ready(j)
  else
    addTo(ended, j.s, j.id)
    if j.s == 'discarded' then holdLane(j) end
  end
  enterClass(j)
end

-- unlink is called before a job changes. The caller saves it.
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
    touch(j.q, j.l, true)
    if limitsOf(j.q) then wake(j.q) end
  else
    leaveEnded(j.s, j.f, j.id)
    if j.s == 'discarded' then releaseLane(j) end
  end
  leaveClass(j)
end

-- finish moves an unlinked job to its final state.
local function finish(j, state)
  j.s, j.f, j.x, j.se, j.ca = state, now, false, '', 0
  save(j)
  letGo(j)
  link(j)
end

-- due returns when a job is due: at a given time, or after a delay.
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
