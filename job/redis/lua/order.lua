-- Leaves a command for a worker. ARGV: worker, how many may wait, how long they are kept, the command. Returns 1, 0 if there is no such worker, or -1
-- if too many wait.
if call('HEXISTS', P .. 'workers', ARGV[1]) == 0 then return 0 end
local key = P .. 'orders:' .. ARGV[1]
dropOrders(key, tonumber(ARGV[3]))
if call('LLEN', key) >= tonumber(ARGV[2]) then return -1 end
call('RPUSH', key, int(now) .. '\n' .. ARGV[4])
call('PEXPIRE', key, math.ceil(ARGV[3] / 1000))
return 1
