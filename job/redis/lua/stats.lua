-- Returns rows of stats. ARGV: the first minute, how many rows to skip, the limit.
local rows = {}
for i, field in ipairs(call('ZRANGEBYSCORE', P .. 'minutes', ARGV[1], '+inf', 'LIMIT', ARGV[2], ARGV[3])) do
  rows[i] = call('HGET', P .. 'stats', field)
end
return rows
