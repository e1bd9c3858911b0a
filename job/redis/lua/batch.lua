-- A batch has the jobs of one claim of a session. h:S has the batches of session S by the number of the claim, b:S the IDs of each, and how many
-- of them the session still holds. A job has its session and its batch.

-- holdBatch makes jobs a batch of a session. The caller saves the jobs.
local function holdBatch(session, number, list)
  if #list == 0 then return end
  local held, at = P .. 'b:' .. session, now
  while call('HEXISTS', held, int(at)) == 1 do at = at + 1 end
  local ids = {}
  for i = 1, #list do
    list[i].se, list[i].ca = session, at
    ids[i] = list[i].id
  end
  call('HSET', held, int(at), table.concat(ids), 'n' .. int(at), #ids)
  call('ZADD', P .. 'h:' .. session, number, int(at))
end

-- leaveBatch notes that the session no longer holds a running job.
local function leaveBatch(j)
  local of = leaving[j.se]
  if not of then
    of = {}
    leaving[j.se] = of
  end
  of[j.ca] = (of[j.ca] or 0) + 1
end

local function writeLeft()
  for session, batches in pairs(leaving) do
    local held = P .. 'b:' .. session
    for at, n in pairs(batches) do
      local name = int(at)
      if call('HINCRBY', held, 'n' .. name, -n) <= 0 then
        call('HDEL', held, name, 'n' .. name)
        call('ZREM', P .. 'h:' .. session, name)
      end
    end
  end
  leaving = {}
end

-- holds reports whether a session holds a job.
local function holds(session, j) return j and j.s == 'running' and j.se == session end

-- inBatch returns the jobs of a batch that the session still holds.
local function inBatch(session, name)
  local ids, at, found = call('HGET', P .. 'b:' .. session, name) or '', tonumber(name), {}
  local list = {}
  for i = 1, #ids, 16 do list[#list + 1] = string.sub(ids, i, i + 15) end
  fetch(list)
  for i = 1, #list do
    local j = load(list[i])
    if holds(session, j) and j.ca == at then found[#found + 1] = j end
  end
  return found, #list
end
