-- ending has functions of other files that run at the end of a script.
local ending = {}

-- done writes the gathered changes. Each script that changes jobs calls it at the end.
local done
do
  -- isOpen reports whether jobs of a stored lane may start (see lane.lua): its priority comes first, after an empty string if it is packed.
  local function isOpen(kept)
    if not kept then return false end
    if string.byte(kept) == 0xa0 then return string.byte(kept, 2) ~= 0 end
    return string.byte(kept) ~= 0x30
  end

  -- toMark returns those of the touched lanes of a queue that have to be marked.
  local function toMark(q, t)
    local asked, open, names = {}, {}, {}
    for i = 1, #t.names do
      if t.ended[i] then asked[#asked + 1] = t.names[i] end
    end
    for from = 1, #asked, 1000 do
      local to = math.min(from + 999, #asked)
      local kept = call('HMGET', P .. 'l:' .. q, unpack(asked, from, to))
      for i = from, to do open[asked[i]] = isOpen(kept[i - from + 1]) end
    end
    for i = 1, #t.names do
      local l = t.names[i]
      if not (t.ended[i] and open[l]) then names[#names + 1] = l end
    end
    return names
  end

  done = function()
    for i = 1, #ending do ending[i]() end
    writeJobs()
    writeLists()
    writeLeft()
    writeRuns()
    writeMembers()
    writeEnded()
    for q, t in pairs(touched) do
      local names, list = toMark(q, t), {}
      if #names > 0 then
        local last = call('HINCRBY', P .. 'q:' .. q, 'tc', #names)
        for i, l in ipairs(names) do
          list[#list + 1] = last - #names + i
          list[#list + 1] = l
        end
        for from = 1, #list, 1000 do call('ZADD', P .. 't:' .. q, 'NX', unpack(list, from, math.min(from + 999, #list))) end
        call('SADD', P .. 'laned', q)
      end
    end
    local names = {}
    for key in pairs(classes) do names[#names + 1] = string.sub(key, #P + 3) end
    if #names > 0 then call('SADD', P .. 'classes', unpack(names)) end
    for q in pairs(woken) do call('PUBLISH', P .. 'wake', q) end
  end
end
