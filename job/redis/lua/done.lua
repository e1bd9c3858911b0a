-- ending has what other parts of a script write at the end.
local ending = {}

-- done writes what has gathered. Each script that changes jobs ends with it.
local function done()
  for i = 1, #ending do ending[i]() end
  writeJobs()
  writeLists()
  writeLeft()
  writeRuns()
  writeMembers()
  writeEnded()
  for q, lanes in pairs(touched) do
    local last, list = call('HINCRBY', P .. 'q:' .. q, 'tc', #lanes.names), {}
    for i, l in ipairs(lanes.names) do
      list[#list + 1] = last - #lanes.names + i
      list[#list + 1] = l
    end
    for from = 1, #list, 1000 do call('ZADD', P .. 't:' .. q, 'NX', unpack(list, from, math.min(from + 999, #list))) end
    call('SADD', P .. 'laned', q)
  end
  local names = {}
  for key in pairs(classes) do names[#names + 1] = string.sub(key, #P + 3) end
  if #names > 0 then call('SADD', P .. 'classes', unpack(names)) end
  for q in pairs(woken) do call('PUBLISH', P .. 'wake', q) end
end
