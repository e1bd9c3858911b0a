-- Returns the limits of single keys of a queue: key, JSON. ARGV: queue, the key before the first one, the limit.
local from, rows = '-', {}
if ARGV[2] ~= '' then from = '(' .. ARGV[2] end
for _, key in ipairs(call('ZRANGEBYLEX', P .. 'vk:' .. ARGV[1], from, '+', 'LIMIT', 0, ARGV[3])) do
  local kept = call('HGET', P .. 'v:' .. ARGV[1], key)
  rows[#rows + 1] = { key, string.sub(kept, string.find(kept, '\n', 1, true) + 1) }
end
return rows
