-- Replaces rows of stats by one that adds them up. ARGV: the span, and the version that was read; the number of rows to replace, each as its field
-- and the value that was read; then the new ones, each as field and JSON. It returns 0, and does nothing, if any of this has changed since.
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
