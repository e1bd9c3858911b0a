-- Scripts that read and write jobs gather their writes, and write each key once at the end, see done.lua: a command for each job would cost more than
-- the work itself. A script writes nothing before it knows that it can complete its call.

local runs, counted, touched, woken, classes, members, lists, ended, unended, leaving = {}, {}, {}, {}, {}, {}, {}, {}, {}, {}

-- addTo appends to a list that one command will write.
local function addTo(lists, key, value, other)
  local list = lists[key]
  if not list then
    list = {}
    lists[key] = list
  end
  list[#list + 1] = value
  if other then list[#list + 1] = other end
end

-- writeAll runs a command for each list, with at most a thousand values.
local function writeAll(name, lists)
  for key, list in pairs(lists) do
    for from = 1, #list, 1000 do call(name, key, unpack(list, from, math.min(from + 999, #list))) end
  end
end

-- put records that a member belongs in a sorted set with a score, or, if the score is false, that it does not belong there.
local function put(key, score, member)
  local of = members[key]
  if not of then
    of = {}
    members[key] = of
  end
  of[member] = score
end

-- count adds d to the number of running jobs of a lane.
local function count(q, l, d)
  local r = runs[q]
  if not r then
    r = {}
    runs[q] = r
  end
  r[''] = (r[''] or 0) + d
  if l ~= '' then r[l] = (r[l] or 0) + d end
end

-- touch marks a lane, so that the next claim checks whether it may start a job. Lanes that may start a job get in line in the order in which they
-- were marked. A lane of which a job has ended, without any other change, is marked only if it is not open: an open lane stays open.
local function touch(q, l, hasEnded)
  if l == '' then return end
  local t = touched[q]
  if not t then
    t = { names = {}, ended = {}, known = {} }
    touched[q] = t
  end
  local before = t.known[l]
  if before == 'touched' or before and hasEnded then return end
  t.known[l] = hasEnded and 'ended' or 'touched'
  t.names[#t.names + 1] = l
  t.ended[#t.names] = hasEnded
end

local function wake(q) woken[q] = true end

-- runningOf returns the stored numbers of running jobs of lanes, and reads those that the script has not read yet.
local function runningOf(q, names)
  local known, missing = counted[q], {}
  if not known then
    known = {}
    counted[q] = known
  end
  for i = 1, #names do
    if not known[names[i]] then missing[#missing + 1] = names[i] end
  end
  if #missing > 0 then
    local kept = call('HMGET', P .. 'n:' .. q, unpack(missing))
    for i = 1, #missing do known[missing[i]] = tonumber(kept[i] or 0) end
  end
  return known
end

local function writeRuns()
  for q, lanes in pairs(runs) do
    local key, names = P .. 'n:' .. q, {}
    for l, d in pairs(lanes) do
      if d ~= 0 then names[#names + 1] = l end
    end
    if #names > 0 then
      local kept, sets, drops = runningOf(q, names), {}, {}
      for i = 1, #names do
        local n = kept[names[i]] + lanes[names[i]]
        if n > 0 then
          sets[#sets + 1] = names[i]
          sets[#sets + 1] = string.format('%d', n)
        else
          drops[#drops + 1] = names[i]
        end
      end
      if #sets > 0 then call('HSET', key, unpack(sets)) end
      if #drops > 0 then call('HDEL', key, unpack(drops)) end
    end
  end
  runs, counted = {}, {}
end

local function writeMembers()
  for key, of in pairs(members) do
    local adds, drops = {}, {}
    for member, score in pairs(of) do
      if score then
        adds[#adds + 1] = score
        adds[#adds + 1] = member
      else
        drops[#drops + 1] = member
      end
    end
    writeAll('ZADD', { [key] = adds })
    writeAll('ZREM', { [key] = drops })
  end
  members = {}
end
