-- New jobs. Each is one argument, which unpacks to: ID, kind, queue, args, priority, most attempts, unique key, for how long it is
-- unique, when it is due or after which delay, options, limit key, the ID of another system, in which states of its holder
-- the unique key keeps it out ("*" for all), whether it replaces that, within what time, and the cost.

-- firstThere returns the ID of the first of some new jobs whose ID is there already.
local function firstThere(jobs)
  for from = 1, #jobs, 1000 do
    local keys = {}
    for i = from, math.min(from + 999, #jobs) do keys[#keys + 1] = jobKey(jobs[i][1]) end
    if call('EXISTS', unpack(keys)) > 0 then
      for i = 1, #keys do
        if call('EXISTS', keys[i]) == 1 then return jobs[from + i - 1][1] end
      end
    end
  end
end

-- replace gives the args and the time of a new job to the holder of its key, if that is queued.
local function replace(id, a)
  local j = load(id)
  if a[15] ~= '1' or not j or j.s ~= 'queued' then return end
  unlink(j)
  j.r = due(a[9], a[10])
  local within = tonumber(a[16])
  if within > 0 and tonumber(j.r) > j.c + within then j.r = int(math.max(j.c + within, now)) end
  setArgs(id, a[4])
  call('HSET', jobKey(id), 'r', j.r)
  link(j)
  wake(j.q)
end

-- insert stores a job, and returns the ID of the one that is stored.
local function insert(a)
  local id, key = a[1], a[7]
  if key ~= '' then
    local other = holder(key)
    if other then
      local keepsOut = a[14] == '*'
      if not keepsOut then
        local state = call('HGET', jobKey(other), 's')
        keepsOut = state and string.find(',' .. a[14] .. ',', ',' .. state .. ',', 1, true)
      end
      if keepsOut then
        replace(other, a)
        return other
      end
    end
  end
  local j = { id = id, s = 'queued', k = a[2], q = a[3], p = a[5], l = a[12], c = nowText, r = due(a[9], a[10]) }
  local fields = { 's', 'queued', 'k', j.k, 'q', j.q, 'p', j.p, 'm', a[6], 'c', j.c, 'r', j.r, 'n', '0' }
  local function add(name, value)
    if value ~= '' then
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
  end
  add('u', key)
  if a[8] ~= '0' then add('uf', a[8]) end
  add('o', a[11])
  add('l', j.l)
  add('mi', a[13])
  if #a[4] <= mostInside then
    addArgs(fields, a[4])
  else
    call('SET', argsKey(id), a[4])
  end
  if a[17] and a[17] ~= '0' then add('co', a[17]) end
  call('HSET', jobKey(id), unpack(fields))
  if key ~= '' then hold(key, id) end
  if a[13] ~= '' then call('ZADD', P .. 'm:' .. a[13], 0, id) end
  link(j)
  wake(j.q)
  return id
end
