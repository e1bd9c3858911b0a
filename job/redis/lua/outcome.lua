-- An outcome of a running job is one argument, which unpacks to: ID, attempt, state, detail, spared, most attempts, queue, priority, when due, or
-- after which delay, for how long to throttle, units to book.

-- heldBy returns the job of an outcome, nil where the session has lost it.
local function heldBy(session, o)
  local j = load(o[1])
  if j and j.s == 'running' and j.se == session and j.n == tonumber(o[2]) then return j end
end

-- settle writes the outcome of a job that is held.
local function settle(j, o)
  local state, throttle = o[3], tonumber(o[11])
  if throttle > 0 then throttleLane(j.q, j.l, now + throttle) end
  if o[12] ~= '0' then bookUnits(j.q, j.l, tonumber(o[12])) end
  if state == 'running' then
    call('HSET', jobKey(j.id), 'd', o[4])
    return
  end
  unlink(j)
  if state ~= 'queued' then
    finish(j, state, 'd', o[4])
  elseif j.x then
    finish(j, 'canceled', 'd', o[4])
  else
    j.s, j.q, j.p, j.r = 'queued', o[7], o[8], due(o[9], o[10])
    call('HSET', jobKey(j.id), 's', j.s, 'sp', o[5], 'm', o[6], 'q', j.q, 'p', j.p, 'r', j.r, 'd', o[4])
    link(j)
    wake(j.q)
  end
end
