-- Returns the server's INFO, and the state of the store. ARGV: "1" to create the store if there is none, and its schema.
local key = P .. 'meta'
local kind = call('TYPE', key).ok
if kind == 'none' and ARGV[1] == '1' then
  evenFull()
  call('HSET', key, 'store', 'meanwhile jobs', 'schema', ARGV[2])
  kind = 'hash'
end
local store, schema
if kind == 'hash' then store, schema = unpack(call('HMGET', key, 'store', 'schema')) end
return {
  call('INFO', 'server') .. call('INFO', 'memory') .. call('INFO', 'persistence') .. call('INFO', 'replication'), kind, store or '', schema or '',
}
