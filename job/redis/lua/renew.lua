-- Extends the lease of a session, and stores its worker's report. ARGV: "1", or "0" if more of the renewal follows; worker, session, lease, info; the
-- number of IDs to check, and these; the number of IDs to give up, and these; the number of stats, each as field, minute, total and JSON; the number
-- of trees, each as job, attempt and JSON. Returns the lost IDs and, if ARGV[1] is "1", the canceled ones, the time, the watched ones, and the
-- commands.
local worker, session = ARGV[2], ARGV[3]
local at = 6
local function following(size)
  local n = tonumber(ARGV[at])
  local from = at + 1
  at = from + n * size
  return from, at - 1
end

evenFull()
if ARGV[1] == '1' then renewLease(session, tonumber(ARGV[4])) end

local askFrom, askTo = following(1)
local dropFrom, dropTo = following(1)
local ids = {}
for i = askFrom, askTo do ids[#ids + 1] = ARGV[i] end
for i = dropFrom, dropTo do ids[#ids + 1] = ARGV[i] end
fetch(ids)
local dropped = {}
for i = dropFrom, dropTo do
  local id = ARGV[i]
  local j = load(id)
  if holds(session, j) then
    leaveBatch(j)
    if j.x then
      call('SREM', P .. 'x:' .. session, id)
      call('SADD', P .. 'x:0', id)
    end
    j.se, j.xp = '0', true
    dropped[#dropped + 1] = j
    save(j)
    put(P .. 'e:' .. j.p .. ':' .. j.q, int(j.r), id .. j.k)
  end
end
holdBatch('0', 0, dropped)
local lost = {}
for i = askFrom, askTo do
  if not holds(session, load(ARGV[i])) then lost[#lost + 1] = ARGV[i] end
end

local from, to = following(4)
for i = from, to, 4 do
  local field, minute, total = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local before = call('HGET', P .. 'stats', field)
  if not before or tonumber(string.match(before, '^%d+')) <= tonumber(total) then
    call('HSET', P .. 'stats', field, total .. '\n' .. ARGV[i + 3])
    call('ZADD', P .. 'minutes', minute, field)
  end
end
from, to = following(3)
for i = from, to, 3 do
  local id, attempt = ARGV[i], ARGV[i + 1]
  local till = call('ZSCORE', P .. 'watches', id)
  if till and tonumber(till) > now and holds(session, load(id)) and load(id).n == tonumber(attempt) then
    call('HSET', P .. 'trees', id, attempt .. '\n' .. int(now) .. '\n' .. ARGV[i + 2])
  end
end
if ARGV[1] ~= '1' then
  done()
  return { lost }
end

call('HSET', P .. 'workers', worker, int(now) .. '\n' .. ARGV[5])
call('ZADD', P .. 'seen', int(now), worker)
local canceled = call('SMEMBERS', P .. 'x:' .. session)
local watched = {}
local watches = call('ZRANGEBYSCORE', P .. 'watches', '(' .. int(now), '+inf')
fetch(watches)
for i = 1, #watches do
  if holds(session, load(watches[i])) then watched[#watched + 1] = watches[i] end
end
table.sort(watched, idLess)
for i = #watched, tonumber(ARGV[at]) + 1, -1 do watched[i] = nil end

local orders = call('LRANGE', P .. 'orders:' .. worker, 0, -1)
call('DEL', P .. 'orders:' .. worker)
done()
return { lost, canceled, int(now), watched, orders }
