-- Sets the limits of a queue. ARGV: queue, the limits as JSON and as seventeen numbers, both "" for none.
local key = P .. 'q:' .. ARGV[1]
local function rates(x) return string.match(x or '', '^%d+ (%d+ %d+ %d+) %d+ (%d+ %d+ %d+)') end
local starts, keyStarts = rates(call('HGET', key, 'x'))
local newStarts, newKeyStarts = rates(ARGV[3])
local function unitRates(x) return string.match(x or '', '^' .. string.rep('%d+ ', 9) .. '(%d+ %d+ %d+) (%d+ %d+ %d+)') end
local queueUnits, keyUnits = unitRates(call('HGET', key, 'x'))
local newUnits, newKeyUnits = unitRates(ARGV[3])
if (starts or '0 0 1') ~= (newStarts or '0 0 1') then call('HSET', key, 'fu', int(now)) end
if (keyStarts or '0 0 1') ~= (newKeyStarts or '0 0 1') then call('HINCRBY', key, 'fe', 1) end
if (queueUnits or '0 0 1') ~= (newUnits or '0 0 1') then call('HSET', key, 'pd', int(now)) end
if (keyUnits or '0 0 1') ~= (newKeyUnits or '0 0 1') then call('HINCRBY', key, 'pe', 1) end
local function holds(x) return string.match(x or '', '^' .. string.rep('%d+ ', 16) .. '(%d)') == '1' end
if holds(call('HGET', key, 'x')) ~= holds(ARGV[3]) then
  -- No epoch comes twice, even if the queue was deleted in between: jobs of old ones are still listed under theirs.
  call('HSET', key, 'hd', int(math.max(now, tonumber(call('HGET', key, 'hd') or 0) + 1)))
end
if ARGV[2] == '' then
  call('HDEL', key, 'l', 'x')
else
  call('HSET', key, 'l', ARGV[2], 'x', ARGV[3])
end
call('HSET', key, 'rt', '0')
call('SADD', P .. 'laned', ARGV[1])
wake(ARGV[1])
done()
return 1
