-- Applies an action to jobs. ARGV: the filter, hi, lo, the limit, the states in which the action applies, the new state ("" deletes), queue,
-- priority, "1" if it sets when the job is due, that time ("" is now), then the candidate IDs, if the filter is by ID. Returns the ID to continue
-- before, or "", and how many matched, were changed, were skipped, and conflicted.
local f, limit = cjson.decode(ARGV[1]), tonumber(ARGV[4])
local from, to, queue, priority, sets, runAt = ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]
local found, changed, skipped, conflicts = 0, 0, 0, 0

-- takeKey gives a finished job its unique key again. It returns false if another job holds the key.
local function takeKey(j)
  local key = uniqueKey(j)
  if not key then return true end
  local other = holder(key)
  if other and other ~= j.id then return false end
  hold(key, j.id)
  return true
end

-- uncounted returns a job's detail without its last entry, which is how often the job was released.
local function uncounted(detail)
  if string.find(detail, '^{"released":%d+}$') then return '' end
  return (string.gsub(detail, ',"released":%d+}$', '}'))
end

local function change(j)
  if to ~= '' and j.s == 'running' then
    j.x = true
    save(j)
    call('SADD', P .. 'x:' .. j.se, j.id)
    return
  end
  local finished = j.s ~= 'queued' and j.s ~= 'running'
  unlink(j)
  if to == '' then
    local key = uniqueKey(j)
    if key and holder(key) == j.id then call('HDEL', P .. 'u', key) end
    remove(j)
  elseif to ~= 'queued' then
    finish(j, to)
  else
    if finished then j.f = 0 end
    if finished and sets == '1' then j.sp, j.d = j.n, uncounted(j.d) end
    j.s = 'queued'
    if queue ~= '' then j.q = queue end
    if priority ~= '0' then j.p = tonumber(priority) end
    if sets == '1' then j.r = due(runAt, 0) end
    save(j, true)
    link(j)
    wake(j.q)
  end
end

evenFull()
local function visit(id)
  local j = load(id)
  found = found + 1
  if not string.find(from, ',' .. j.s .. ',', 1, true) then
    skipped = skipped + 1
  elseif to == 'queued' and j.s ~= 'queued' and not takeKey(j) then
    conflicts = conflicts + 1
  else
    change(j)
    changed = changed + 1
  end
  return found == limit
end
local last
if f.by_id then
  last = eachOf(f, ARGV, 11, visit)
else
  last = scan(f, ARGV[2], ARGV[3], visit)
end
done()
return { last or '', found, changed, skipped, conflicts }
