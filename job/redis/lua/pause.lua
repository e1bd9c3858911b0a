-- Stops claims from a queue, or resumes them, and ends its throttling. ARGV: queue, "1" or "".
local key = P .. 'q:' .. ARGV[1]
if ARGV[2] == '1' then
  call('HSET', key, 'pa', '1')
  call('SADD', P .. 'paused', ARGV[1])
else
  call('SREM', P .. 'paused', ARGV[1])
  if call('EXISTS', key) == 1 then
    call('HDEL', key, 'pa', 'he')
    call('HINCRBY', key, 'hp', 1)
    call('HSET', key, 'rt', '0')
    call('SADD', P .. 'laned', ARGV[1])
  end
  wake(ARGV[1])
end
done()
return 1
