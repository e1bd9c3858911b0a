-- Returns what the server says of itself, and what is kept of the store. ARGV: "1" where a store is to be made if there is none, its schema.
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
