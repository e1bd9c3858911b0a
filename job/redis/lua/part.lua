-- Sends a part of a long call. ARGV: its token, for how long it waits for the others in ms, "1" where it may be sent although the memory is full, the
-- part.
local key = P .. 'stage:' .. ARGV[1]
if ARGV[3] == '1' then evenFull() end
for from = 4, #ARGV, 1000 do call('RPUSH', key, unpack(ARGV, from, math.min(from + 999, #ARGV))) end
call('PEXPIRE', key, ARGV[2])
return 1
