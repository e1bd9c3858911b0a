-- Writes what became of running jobs. ARGV: the staged parts, session, how many outcomes, those, then how many jobs follow, those.
-- An outcome is one argument, which unpacks to: ID, attempt, state, detail, spared, most attempts, queue, priority, when due, or after which delay, for how long to
-- throttle, units to book. A job that follows one is its number, then a new job. Returns the numbers of the lost ones.
local a = staged()
if not a then return redis.error_reply('STAGE the parts of a large call are gone: call again') end
local session, n = a[1], tonumber(a[2])
local follow = tonumber(a[n + 3])

local outcomes, jobs, lost = {}, {}, { 'ok' }
for i = 1, n do
  local o = cmsgpack.unpack(a[i + 2])
  local j = load(o[1])
  if j and j.s == 'running' and j.se == session and j.n == tonumber(o[2]) then
    outcomes[i], jobs[i] = o, j
  else
    lost[#lost + 1] = i
  end
end
local new = {}
for i = 1, follow do
  local at = n + 2 + 2 * i
  if jobs[tonumber(a[at])] then
    local job = cmsgpack.unpack(a[at + 1])
    if isThere(job) then return { 'there', job[1] } end
    new[#new + 1] = job
  end
end

evenFull()
for i = 1, n do
  local j, o = jobs[i], outcomes[i]
  if j then
    local state, throttle = o[3], tonumber(o[11])
    if throttle > 0 then throttleLane(j.q, j.l, now + throttle) end
    if o[12] ~= '0' then bookUnits(j.q, j.l, tonumber(o[12])) end
    set(j.id, 'd', o[4])
    if state ~= 'running' then
      unlink(j)
      if state ~= 'queued' then
        finish(j, state)
      elseif j.x then
        finish(j, 'canceled')
      else
        j.s, j.q, j.p, j.r, j.x = 'queued', o[7], o[8], due(o[9], o[10]), nil
        set(j.id, 's', j.s, 'sp', o[5], 'm', o[6], 'q', j.q, 'p', j.p, 'r', j.r, 'se', '', 'ca', '')
        link(j)
        wake(j.q)
      end
    end
  end
end
for i = 1, #new do insert(new[i]) end
dropStaged()
done()
return lost
