-- An outcome of running jobs is one argument, which is unpacked to: their IDs one after the other, attempt, state, detail, uncounted attempts,
-- max attempts, queue, priority, the due time or "", the delay until it is due, how long to throttle, and units to book.

-- heldBy returns the job of an outcome, or nil if the session has lost it, or if it is to be queued although it is to be canceled.
local function heldBy(session, id, o)
  local j = load(id)
  if holds(session, j) and j.n == o[2] and not (j.x and o[3] == 'queued') then return j end
end

-- settle writes the outcome of a job that the session holds.
local function settle(j, o)
  local state = o[3]
  if o[11] > 0 then throttleLane(j.q, j.l, now + o[11]) end
  if o[12] ~= 0 then bookUnits(j.q, j.l, o[12]) end
  j.d = o[4]
  if state == 'running' then
    save(j)
    return
  end
  unlink(j)
  if state ~= 'queued' then
    finish(j, state)
  else
    j.s, j.q, j.p, j.r, j.sp, j.m, j.se, j.ca = 'queued', o[7], o[8], due(o[9], o[10]), o[5], o[6], '', 0
    save(j, true)
    link(j)
    wake(j.q)
  end
end
