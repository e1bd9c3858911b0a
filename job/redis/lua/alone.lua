-- While a long call is being written (see long.lua), no other script may see its jobs: its caller has to write a part of it first.
if call('EXISTS', P .. 'busy') == 1 then return redis.error_reply('LONG a call of many jobs is being written: write a part of it, then call again') end
