-- Puts rows of stats away for the one in which they were added up. ARGV: the span, the version that it had; how many rows are put away, of each its field
-- and what it was; then of each that was added up its field and JSON. It returns 0, and does nothing, when any of it has changed since.
local span = P .. 'past:' .. ARGV[1]
if (call('HGET', span, '') or '0') ~= ARGV[2] then return 0 end
local last = 3 + 2 * tonumber(ARGV[3])
for i = 4, last, 2 do
  if call('HGET', P .. 'stats', ARGV[i]) ~= ARGV[i + 1] then return 0 end
end
evenFull()
for i = 4, last, 2 do
  call('HDEL', P .. 'stats', ARGV[i])
  call('ZREM', P .. 'minutes', ARGV[i])
end
for i = last + 1, #ARGV, 2 do call('HSET', span, ARGV[i], ARGV[i + 1]) end
call('HINCRBY', span, '', 1)
call('ZADD', P .. 'spans', ARGV[1], ARGV[1])
return 1
