-- Stops the ticks of a cron, or resumes them: ticks of the pause are skipped. ARGV: cron, "1" or "". Returns 0 if the cron was never noted.
local key = P .. 'cron:' .. ARGV[1]
if call('EXISTS', key) == 0 then return 0 end
if ARGV[2] == '1' then
  call('HSET', key, 'paused', '1')
elseif call('HDEL', key, 'paused') == 1 and tonumber(call('HGET', key, 'last') or 0) < now then
  call('HSET', key, 'last', int(now))
end
return 1
