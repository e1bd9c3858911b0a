-- Returns how many jobs there are: state, queue, kind, number.
local counts = {}
for _, class in ipairs(call('SMEMBERS', P .. 'classes')) do
  local n = call('ZCARD', P .. 'c:' .. class)
  if n > 0 then
    local s, q, k = string.match(class, '^(.-)\n(.-)\n(.*)$')
    counts[#counts + 1] = { s, q, k, n }
  end
end
return counts
