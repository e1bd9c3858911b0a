-- Sets the limits of one key of a queue. ARGV: queue, key, the limits as JSON and as eight numbers, both "" for none; and how many keys may have
-- limits. Returns 0 if there would be more.
local name, key = ARGV[1], ARGV[2]
local all, names, queue = P .. 'v:' .. name, P .. 'vk:' .. name, P .. 'q:' .. name
local had = call('HEXISTS', all, key) == 1
if ARGV[3] ~= '' and not had and call('HLEN', all) >= tonumber(ARGV[5]) then return 0 end
local q = openQueue(name)
local l = openLane(q, key)
local before = ofKey(q, l)
if ARGV[3] ~= '' then
  call('HSET', all, key, ARGV[4] .. '\n' .. ARGV[3])
  call('ZADD', names, 0, key)
  l.own = keyLimits(ARGV[4])
else
  call('HDEL', all, key)
  call('ZREM', names, key)
  l.own = nil
end
call('HSET', queue, 'ov', call('HLEN', all))
local after = ofKey(q, l)
if not sameRate(before.starts, after.starts) then l.full = 0 end
if not sameRate(before.units, after.units) then l.paid = 0 end
if call('HEXISTS', P .. 'l:' .. name, key) == 1 then saveLane(q, l) end
touch(name, key)
wake(name)
done()
return 1
