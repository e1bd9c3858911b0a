-- Returns rows of stats by span. ARGV: the earliest time, how many spans to skip, the limit. Returns how many spans there were, and their rows.
local rows = {}
local spans = call('ZRANGEBYSCORE', P .. 'spans', ARGV[1], '+inf', 'LIMIT', ARGV[2], ARGV[3])
for _, span in ipairs(spans) do
  local past = call('HGETALL', P .. 'past:' .. span)
  for i = 1, #past, 2 do
    if past[i] ~= '' then rows[#rows + 1] = past[i + 1] end
  end
end
return { #spans, rows }
