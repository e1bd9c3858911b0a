-- The jobs that a script has read, and those that it will write.

-- Jobs that this script has read, by ID, false if there is none; and the changed ones, which done writes in this order.
local jobs, changed = {}, {}

-- fetch reads several jobs, except those that have been read already.
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

-- load returns a job, or nil if there is none.
local function load(id)
  local j = jobs[id]
  if j == nil then
    local v = call('HGET', J, id)
    j = v and read(id, v)
    jobs[id] = j
  elseif j and j.fresh then -- inserted by this script, which has only a part of it
    setmetatable(j, { __index = parse(j.kept) })
    j.fresh = false
  end
  return j or nil
end

-- save marks a job to be written at the end; without all, only its first part is written.
local function save(j, all)
  if not j.changed then
    j.changed = true
    changed[#changed + 1] = j
  end
  if j.text then j.text = nil end
  if all then j.all = true end
end

-- whole appends a job to a list in the format for the caller: its ID and its value, followed by the args if they are stored separately. It returns
-- their size. Joining both to one string would cost more than sending two.
local function whole(list, j)
  local v = j.changed and textOf(j) or j.kept
  if has(j, hasArgs) then v = v .. call('HGET', A, j.id) end
  list[#list + 1] = j.id
  list[#list + 1] = v
  return #v
end

-- classKey returns the key of a class. It caches keys, and is fast when it is called several times in a row for the same queue and kind.
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

-- enterClass records the class that a job now belongs to, leaveClass that it belongs to none, see writeJobs.
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

-- writeJobs writes the changed jobs, and moves them to the classes that they now belong to.
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
