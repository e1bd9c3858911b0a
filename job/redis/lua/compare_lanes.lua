-- Compares some lanes of the queue ARGV[1] with the jobs in them: about ARGV[3] lanes, from the cursor ARGV[2] of HSCAN on, except those that
-- the next claim settles anyway, since they are marked as changed or are due to be checked. Returns the next cursor, and the keys that
-- differed, each with what was wrong.
local q = openQueue(ARGV[1])
local page = call('HSCAN', P .. 'l:' .. q.name, ARGV[2], 'COUNT', ARGV[3])
local found = { page[1] }
if q.retouch then return { '0' } end -- all lanes will be read again anyway
evenFull()

-- strangers removes members at the front of a sorted set that do not belong there. It returns true if there were any.
local function strangers(key, belongs)
  local any = false
  for _ = 1, 100 do
    local m = call('ZRANGE', key, 0, 0)[1]
    if not m then break end
    local j = load(string.sub(m, 1, 16))
    if j and j.q == q.name and belongs(j) then break end
    call('ZREM', key, m)
    any = true
  end
  return any
end

local function wrongIn(l)
  local queued, held = false, false
  for p = 1, 9 do
    queued = strangers(readyKey(q.name, l.key, p), function(j) return j.s == 'queued' and j.l == l.key and j.p == p end) or queued
  end
  queued = strangers(orderKey(q.name, l.key), function(j) return j.s == 'queued' and j.l == l.key end) or queued
  if q.limits.hold then held = strangers(holdKey(q.holdEpoch, q.name, l.key), function(j) return j.s == 'discarded' and j.l == l.key end) end
  if queued then return 'it had jobs in line that are not queued' end
  if held then return 'it was held by jobs that are not discarded' end
  writeMembers()
  local priority, wakeAt, gone = laneHint(q, l)
  if gone then return 'it had an entry without jobs' end
  if priority ~= l.priority then return 'its priority was ' .. l.priority .. ' instead of ' .. priority end
  local at = call('ZSCORE', P .. 'w:' .. q.name, l.key)
  if wakeAt and (not at or tonumber(at) > wakeAt) then return 'its next check was too late' end
  for p = 1, 9 do
    local turn = call('ZSCORE', P .. 'i:' .. p .. ':' .. q.name, l.key)
    if p == priority and tonumber(turn or -1) ~= l.turn then return 'it was not in line' end
    if p ~= priority and turn then
      call('ZREM', P .. 'i:' .. p .. ':' .. q.name, l.key)
      return 'it was in line by two priorities'
    end
  end
end

for i = 1, #page[2], 2 do
  local name = page[2][i]
  local at = call('ZSCORE', P .. 'w:' .. q.name, name)
  if name ~= '' and not call('ZSCORE', P .. 't:' .. q.name, name) and not (at and tonumber(at) <= now) then
    local l = openLane(q, name)
    local wrong = wrongIn(l)
    if wrong then
      settleLane(q, l)
      found[#found + 1] = name
      found[#found + 1] = wrong
    end
  end
end
if #found > 1 then
  saveQueue(q)
  wake(q.name)
end
done()
return found
