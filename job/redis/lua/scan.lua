-- scan calls visit with the IDs of jobs that match a filter, newest first, until visit returns true, or many were read. It returns the ID to
-- continue before, or nil if there are no more. The filter is JSON; hi and lo bound the IDs, in the syntax of ZRANGEBYLEX.

local function contains(list, value)
  for i = 1, #list do
    if list[i] == value then return true end
  end
  return false
end

local function matches(f, id)
  local j = load(id)
  if not j then return false end
  if f.kinds and not contains(f.kinds, j.k) or f.queues and not contains(f.queues, j.q) then return false end
  if f.worker and f.worker ~= j.w or f.unique_key and f.unique_key ~= (uniqueKey(j) or '') then return false end
  if f.finished_before and not (j.f > 0 and j.f < tonumber(f.finished_before)) then return false end
  if f.meta then
    for i = 1, #f.meta do
      local options = more(j).o
      if not (string.find(options, '{' .. f.meta[i], 1, true) or string.find(options, ',' .. f.meta[i], 1, true)) then return false end
    end
  end
  if f.states and not contains(f.states, j.s) then
    if j.s ~= 'queued' then return false end
    local view = 'queued'
    if j.n - j.sp > 0 then
      view = 'retrying'
    elseif j.r > now then
      view = 'scheduled'
    end
    return contains(f.states, view)
  end
  return true
end

-- sources returns the sorted sets to search: those of the classes that may match, or that of a meta ID.
local function sources(f)
  if f.meta_id then return { P .. 'm:' .. f.meta_id } end
  local states
  if f.states then
    states = {}
    for _, s in ipairs(f.states) do
      if s == 'scheduled' or s == 'retrying' then s = 'queued' end
      states[s] = true
    end
  end
  local found, names = {}, call('SMEMBERS', P .. 'classes')
  for i = 1, #names do
    local s, q, k = string.match(names[i], '^(.-)\n(.-)\n(.*)$')
    if (not states or states[s]) and (not f.kinds or contains(f.kinds, k)) and (not f.queues or contains(f.queues, q)) then
      found[#found + 1] = P .. 'c:' .. names[i]
    end
  end
  return found
end

local function scan(f, hi, lo, visit)
  local heads = {}
  for _, key in ipairs(sources(f)) do
    local ids = call('ZREVRANGEBYLEX', key, hi, lo, 'LIMIT', 0, 20)
    if ids[1] then
      fetch(ids)
      heads[#heads + 1] = { key = key, ids = ids, at = 1 }
    end
  end
  local seen, last = 0, nil
  while #heads > 0 do
    local best, second = 1, nil
    for i = 2, #heads do
      local id = heads[i].ids[heads[i].at]
      if idLess(heads[best].ids[heads[best].at], id) then
        second, best = heads[best].ids[heads[best].at], i
      elseif not second or idLess(second, id) then
        second = id
      end
    end
    local h = heads[best]
    while h do
      local id = h.ids[h.at]
      if second and idLess(id, second) then break end
      last, seen = id, seen + 1
      if matches(f, id) and visit(id) or seen >= 500 then return last end
      h.at = h.at + 1
      if h.at > #h.ids then
        h.ids, h.at = call('ZREVRANGEBYLEX', h.key, '(' .. id, lo, 'LIMIT', 0, 100), 1
        fetch(h.ids)
        if not h.ids[1] then
          table.remove(heads, best)
          h = nil
        end
      end
    end
  end
end

-- eachOf is scan for given IDs, newest first.
local function eachOf(f, ids, from, visit)
  local list = {}
  for i = from, #ids do list[#list + 1] = ids[i] end
  fetch(list)
  for i = from, #ids do
    if matches(f, ids[i]) and visit(ids[i]) then return ids[i] end
  end
end
