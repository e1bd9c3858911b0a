-- Returns rows of stats that are to be added up. ARGV: how long a row is kept, the length of a span, the limit. Returns the span of the oldest row,
-- the version of the rows that were added up for that span before, the fields and the values of the oldest rows, and the rows that were added up
-- before.
local first = call('ZRANGE', P .. 'minutes', 0, 0, 'WITHSCORES')
if not first[1] or tonumber(first[2]) >= now - tonumber(ARGV[1]) then return {} end
local length = tonumber(ARGV[2])
local from = math.floor(tonumber(first[2]) / length) * length
local before = math.min(from + length, now - tonumber(ARGV[1]))
local fields = call('ZRANGEBYSCORE', P .. 'minutes', '-inf', '(' .. int(before), 'LIMIT', 0, ARGV[3])
local rows = {}
for i, field in ipairs(fields) do rows[i] = call('HGET', P .. 'stats', field) end
local past = call('HGETALL', P .. 'past:' .. int(from))
local version, added = '0', {}
for i = 1, #past, 2 do
  if past[i] == '' then version = past[i + 1] else added[#added + 1] = past[i + 1] end
end
return { int(from), version, fields, rows, added }
