-- While a long call is being written (see long.lua), no other script may see its jobs: the caller of a script first has to write a
-- part of the long call.
if call('EXISTS', P .. 'busy') == 1 then return redis.error_reply('LONG a call of many jobs is being written: write a part of it, then call again') end
