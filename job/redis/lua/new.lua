-- New jobs. Each is one argument, which is unpacked to: ID, kind, queue, the beginning of the second part of its value, priority, the end of that
-- with the third part, unique key, flags, when it is due or "", args that are stored separately or "", limit key, meta ID, the states of the key's
-- holder that keep the job out ("*" for all), whether it replaces the holder's args, within what time, and the delay after which it is due.

-- firstThere returns the first of the new jobs whose ID exists already.
local function firstThere(new)
  local ids = {}
  for i = 1, #new do ids[i] = new[i][1] end
  fetch(ids)
  for i = 1, #ids do
    if jobs[ids[i]] then return ids[i] end
  end
end

-- setArgs replaces the args of a job by those of a new one.
local function setArgs(j, a)
  if a[10] ~= '' then
    call('HSET', A, j.id, a[10])
    if not has(j, hasArgs) then j.fl = j.fl + hasArgs end
  elseif has(j, hasArgs) then
    call('HDEL', A, j.id)
    j.fl = j.fl - hasArgs
  end
end

-- replace gives the args and the time of a new job to the holder of its key, if the holder is queued.
local function replace(id, a)
  local j = load(id)
  if a[14] ~= '1' or not j or j.s ~= 'queued' then return end
  unlink(j)
  local again = j.n > 0 and j.r or 0
  j.r = due(a[9], a[16])
  local within = tonumber(a[15])
  if within > 0 then
    if j.r > j.c + within then j.r = math.max(j.c + within, now) end
    j.r = math.max(j.r, again)
  end
  setArgs(j, a)
  more(j)
  j.tail = cmsgpack.pack(j.u, j.uf, j.mi, j.co, j.o) .. string.sub(a[6], unpackSome(a[6], 10, 0) + 1)
  save(j, true)
  link(j)
  wake(j.q)
end

-- The first part of the value of a new job, and the times of one that is due at once.
local hotOfNew, nowTwice = cmsgpack.pack('q', 0, 0, '', 0, 0, 0, '', ''), cmsgpack.pack(now, now)

-- insert stores a job, and returns its ID, or that of the job that keeps it out.
local function insert(a)
  local id, key = a[1], a[7]
  if key ~= '' then
    local other = holder(key)
    if other then
      local keepsOut = a[13] == '*'
      if not keepsOut then
        local j = load(other)
        keepsOut = j and string.find(',' .. a[13] .. ',', ',' .. j.s .. ',', 1, true)
      end
      if keepsOut then
        replace(other, a)
        return other
      end
    end
    hold(key, id)
  end
  local at = due(a[9], a[16])
  local j = { id = id, s = 'queued', k = a[2], q = a[3], p = a[5], l = a[11], c = now, r = at, n = 0, fl = a[8], cold = #hotOfNew, fresh = true }
  j.kept = hotOfNew .. a[4] .. (at == now and nowTwice or cmsgpack.pack(at, now)) .. a[6]
  j.text = j.kept
  jobs[id] = j
  if a[10] ~= '' then call('HSET', A, id, a[10]) end
  if a[12] ~= '' then put(P .. 'm:' .. a[12], '0', id) end
  j.changed = true
  changed[#changed + 1] = j
  link(j)
  wake(j.q)
  return id
end
