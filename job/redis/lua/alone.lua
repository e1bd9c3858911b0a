-- No script writes to a store that does not exist, since the server has lost its data: the caller first creates the store, see check.go. And while a
-- long call is being written (see long.lua), no other script may see its jobs: the caller first has to write a part of the long call.
local there = call('EXISTS', P .. 'meta', P .. 'busy')
if there == 0 then return redis.error_reply('META the store does not exist: create it, then call again') end
if there == 2 then return redis.error_reply('LONG a call of many jobs is being written: write a part of it, then call again') end
