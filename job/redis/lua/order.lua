-- Leaves a command for a worker. ARGV: worker, how many may wait, for how long they do, the command. Returns 1, 0 when there is no such
-- worker, and -1 when too many wait.
if call('HEXISTS', P .. 'workers', ARGV[1]) == 0 then return 0 end
local key = P .. 'orders:' .. ARGV[1]
dropOrders(key, tonumber(ARGV[3]))
if call('LLEN', key) >= tonumber(ARGV[2]) then return -1 end
call('RPUSH', key, int(now) .. '\n' .. ARGV[4])
call('PEXPIRE', key, math.ceil(ARGV[3] / 1000))
return 1
