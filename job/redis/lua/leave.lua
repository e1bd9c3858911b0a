-- Removes a worker from the list, and ends the lease of its session. ARGV: worker, session.
call('HDEL', P .. 'workers', ARGV[1])
call('ZREM', P .. 'seen', ARGV[1])
call('DEL', P .. 'orders:' .. ARGV[1])
call('HDEL', P .. 'from', ARGV[2])
call('HDEL', P .. 'noting', ARGV[2])
call('ZREM', P .. 'sessions', ARGV[2])
if call('ZCARD', P .. 'h:' .. ARGV[2]) > 0 then
  call('ZADD', P .. 'leases', 0, ARGV[2])
else
  call('ZREM', P .. 'leases', ARGV[2])
end
return 1
