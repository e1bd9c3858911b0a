-- The jobs that a script has read, and those that it is to write.

-- What is read of jobs in this script, by ID: false where there is none. What has changed is written at the end, in that order, see done.
local jobs, changed = {}, {}

-- fetch reads jobs that are not read yet at once.
local function fetch(ids)
  local missing = {}
  for i = 1, #ids do
    if jobs[ids[i]] == nil then missing[#missing + 1] = ids[i] end
  end
  for from = 1, #missing, 1000 do
    local to = math.min(from + 999, #missing)
    local v = call('HMGET', J, unpack(missing, from, to))
    for i = from, to do
      local kept = v[i - from + 1]
      jobs[missing[i]] = kept and read(missing[i], kept)
    end
  end
end

-- load returns a job, nil where there is none.
local function load(id)
  local j = jobs[id]
  if j == nil then
    local v = call('HGET', J, id)
    j = v and read(id, v)
    jobs[id] = j
  elseif j and j.fresh then -- it was inserted by this script, which knows some of it
    setmetatable(j, { __index = parse(j.kept) })
    j.fresh = false
  end
  return j or nil
end

-- save has a job written at the end; all is true where more has changed than its first part.
local function save(j, all)
  if not j.changed then
    j.changed = true
    changed[#changed + 1] = j
  end
  if j.text then j.text = nil end
  if all then j.all = true end
end

-- whole adds a job to a list as the caller reads it, its ID and its value, with args behind that are not in it. It returns how long that is. To make one
-- string of both would cost more than to send two.
local function whole(list, j)
  local v = j.changed and textOf(j) or j.kept
  if has(j, hasArgs) then v = v .. call('HGET', A, j.id) end
  list[#list + 1] = j.id
  list[#list + 1] = v
  return #v
end

-- classKey is asked for one queue and kind many times in turn.
local classKey
do
  local keys, lastQueue, lastKind, ofLast = {}, nil, nil, nil
  classKey = function(s, q, k)
    if q ~= lastQueue or k ~= lastKind then
      local name = className('', q, k)
      lastQueue, lastKind, ofLast = q, k, keys[name]
      if not ofLast then
        ofLast = {}
        keys[name] = ofLast
      end
    end
    local key = ofLast[s]
    if not key then
      key = P .. 'c:' .. className(s, q, k)
      ofLast[s] = key
    end
    return key
  end
end

-- enterClass notes the class that a job is of now, leaveClass that it is of none: see writeJobs.
local function enterClass(j)
  local key = classKey(j.s, j.q, j.k)
  classes[key] = true
  j.class = key
end

local function leaveClass(j)
  if j.class then
    j.class = nil
  else
    j.was = classKey(j.s, j.q, j.k)
  end
end

-- writeJobs writes the jobs that have changed, and moves them to the class that they are of now.
local function writeJobs()
  local gone, values, from, to = {}, {}, {}, {}
  for i = 1, #changed do
    local j = changed[i]
    if j.gone then
      gone[#gone + 1] = j.id
    else
      values[#values + 1] = j.id
      values[#values + 1] = textOf(j)
    end
    local was, class = j.was, j.class
    if was ~= class then
      if was then addTo(from, was, j.id) end
      if class then addTo(to, class, '0', j.id) end
    end
  end
  writeAll('HDEL', { [J] = gone, [A] = gone })
  writeAll('HSET', { [J] = values })
  writeAll('ZREM', from)
  writeAll('ZADD', to)
  changed = {}
end
