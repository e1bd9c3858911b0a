-- Unique keys and their holders.

-- The value of a unique key is the ID of the job that holds it. If the job has finished, the time until which it holds the key
-- follows.
local function holder(key)
  local v = call('HGET', P .. 'u', key)
  if not v then return nil end
  local keep = string.sub(v, 17)
  if keep ~= '' and tonumber(keep) <= now then return nil end
  return string.sub(v, 1, 16)
end

local function hold(key, id) call('HSET', P .. 'u', key, id) end

-- uniqueKey returns the unique key of a job, or nil if it has none.
local function uniqueKey(j) return has(j, hasKey) and more(j).u or nil end

-- letGo is called for a job that has finished: it frees the job's key, now or when the time for which the job is unique has
-- passed.
local function letGo(j)
  local key = uniqueKey(j)
  if not key or holder(key) ~= j.id then return end
  local keep = j.c + j.uf
  if keep > now then
    call('HSET', P .. 'u', key, j.id .. int(keep))
    call('ZADD', P .. 'uk', int(keep), key)
  else
    call('HDEL', P .. 'u', key)
  end
end
