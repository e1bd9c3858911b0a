-- A long call settles or inserts more jobs than one script should. Its parts are in the list stage:TOKEN: outcomes, then new jobs, each after the
-- number of the outcome that it follows (0 for none), a colon and its ID. It starts when all parts have been sent. From then on it will be completed
-- even if its caller crashes, and all other scripts wait for it: each of their callers first writes the next part. So its effects become visible all
-- at once, and no script runs long.
--
-- ARGV to start one: token, session, the number of outcomes, the number of new jobs, "1" if it may continue while the memory is full, and how long
-- to keep the answer in ms. Without ARGV, it writes the next part of the long call that has started, if any. Returns the token while parts are
-- left, else "". The answer is in the list answer:TOKEN: "ok", for each outcome "1" if it is lost, then the stored IDs; or "there" and an ID.
local key = P .. 'busy'

if #ARGV > 0 then
  if call('EXISTS', key) == 1 then return redis.error_reply('LONG another call of many jobs is being written: write a part of it, then call again') end
  local stage = P .. 'stage:' .. ARGV[1]
  if call('LLEN', stage) ~= ARGV[3] + ARGV[4] then return redis.error_reply('STAGE the parts of a large call are gone: call again') end
  if ARGV[5] == '1' then evenFull() end
  call('HSET', key, 'token', ARGV[1], 'session', ARGV[2], 'outcomes', ARGV[3], 'new', ARGV[4], 'kept', ARGV[6], 'phase', ARGV[3] == '0' and 2 or 1, 'at', 0)
  call('PERSIST', stage)
  call('RPUSH', P .. 'answer:' .. ARGV[1], 'ok')
  return ARGV[1]
end

local c = call('HMGET', key, 'token', 'session', 'outcomes', 'new', 'kept', 'phase', 'at')
local token, session, kept = c[1], c[2], c[5]
if not token then return '' end
local outcomes, new, phase, at = tonumber(c[3]), tonumber(c[4]), tonumber(c[6]), tonumber(c[7])
local stage, answer = P .. 'stage:' .. token, P .. 'answer:' .. token
evenFull()

local function over()
  call('UNLINK', key, stage) -- the list may be large: it is freed in the background
  call('PEXPIRE', answer, kept)
  return ''
end

-- eachOf calls visit with items of the list after last, decoded by idOf and open, until it has visited n, or many bytes. It first reads their jobs.
local function eachOf(last, n, idOf, open, visit)
  local bytes, from, ids, opened = 0, at, {}, {}
  while n > 0 and at < last and bytes < 1000000 do
    local size = math.min(n, 20, last - at)
    local items = call('LRANGE', stage, at, at + size - 1)
    for i = 1, size do
      bytes = bytes + #items[i]
      local value = open(items[i])
      if value then
        opened[at + i - 1] = value
        ids[#ids + 1] = idOf(value)
      end
    end
    at, n = at + size, n - size
  end
  fetch(ids)
  for i = from, at - 1 do
    if opened[i] then visit(opened[i], i) end
  end
end
local function first(value) return value[1] end

-- isLost reports whether the outcome of a number is lost. The results are read some at a time, since the outcomes and their new jobs are in order.
local read, readFrom = {}, 0
local function isLost(n)
  if n == 0 then return false end
  if n < readFrom or n >= readFrom + #read then
    read, readFrom = call('LRANGE', answer, n, math.min(n + 99, outcomes)), n
  end
  return read[n - readFrom + 1] == '1'
end

-- newOf returns the ID and the encoded rest of a new job, or nil if the job follows a lost outcome.
local function newOf(item)
  local parent, from = string.match(item, '^(%d+):()')
  if isLost(tonumber(parent)) then return nil end
  return { string.sub(item, from, from + 15), string.sub(item, from + 16) }
end

-- How many items one run writes, or reads.
local mostWritten, mostRead = 250, 500

local last, results = outcomes, {}
local function result(value) results[#results + 1] = value end
if phase == 1 then -- find the lost outcomes
  eachOf(last, mostRead, first, cmsgpack.unpack, function(o) result(heldBy(session, o[1], o) and '0' or '1') end)
elseif phase == 2 then -- check whether a new job exists already
  last = outcomes + new
  local list = {}
  eachOf(last, mostRead, first, newOf, function(value) list[#list + 1] = value end)
  local there = firstThere(list)
  if there then
    call('DEL', answer)
    call('RPUSH', answer, 'there', there)
    return over()
  end
elseif phase == 3 then
  eachOf(last, mostWritten, first, cmsgpack.unpack, function(o, i)
    if not isLost(i + 1) then
      local j = heldBy(session, o[1], o)
      if j then settle(j, o) end -- if a job has two outcomes, the first one counts
    end
  end)
else
  last = outcomes + new
  eachOf(last, mostWritten, first, newOf, function(value) result(insert(cmsgpack.unpack(value[2]))) end)
end
for from = 1, #results, 1000 do call('RPUSH', answer, unpack(results, from, math.min(from + 999, #results))) end
done()
if at >= last then
  repeat phase = phase + 1 until phase > 4 or (phase % 2 == 1 and outcomes or new) > 0
  at = phase % 2 == 0 and outcomes or 0
end
if phase > 4 then return over() end
call('HSET', key, 'phase', phase, 'at', at)
return token
