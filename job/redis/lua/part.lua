-- Sends a part of a long call. ARGV: its token, how long it is kept in ms, "1" if it may be sent while the memory is full, and the part.
if call('EXISTS', P .. 'meta') == 0 then return redis.error_reply('META the store does not exist: create it, then call again') end
local key = P .. 'stage:' .. ARGV[1]
if ARGV[3] == '1' then evenFull() end
for from = 4, #ARGV, 1000 do call('RPUSH', key, unpack(ARGV, from, math.min(from + 999, #ARGV))) end
call('PEXPIRE', key, ARGV[2])
return 1
