-- Jobs that finish at the same time are one member of f:STATE: their IDs, one after the other. leaveEnded records that a job is no longer
-- one of them.
local function leaveEnded(state, at, id)
  local key = P .. 'f:' .. state
  local of = unended[key]
  if not of then
    of = {}
    unended[key] = of
  end
  at = int(at)
  of[at] = of[at] or {}
  of[at][id] = true
end

local function writeEnded()
  for state, ids in pairs(ended) do call('ZADD', P .. 'f:' .. state, nowText, table.concat(ids)) end
  for key, times in pairs(unended) do
    for at, ids in pairs(times) do
      for _, member in ipairs(call('ZRANGEBYSCORE', key, at, at)) do
        local rest = {}
        for i = 1, #member, 16 do
          local id = string.sub(member, i, i + 15)
          if not ids[id] then rest[#rest + 1] = id end
        end
        if 16 * #rest < #member then
          call('ZREM', key, member)
          if #rest > 0 then call('ZADD', key, at, table.concat(rest)) end
        end
      end
    end
  end
  ended, unended = {}, {}
end
