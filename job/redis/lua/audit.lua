-- Appends entries to the audit log. ARGV: the staged parts, and how many entries the log keeps; then for each entry its time ("" is now) and its
-- JSON.
local a = staged()
if not a then return redis.error_reply('STAGE the parts of a large call are gone: call again') end
local most = tonumber(a[1])
for i = math.max(2, #a - 2 * most + 1), #a, 2 do
  local n = call('INCR', P .. 'audits')
  local at = a[i] ~= '' and a[i] or int(now)
  call('ZADD', P .. 'audit', n, n .. '\n' .. at .. '\n' .. a[i + 1])
  call('ZADD', P .. 'audited', at, n)
end
for _, e in ipairs(call('ZRANGE', P .. 'audit', 0, -most - 1)) do
  call('ZREM', P .. 'audited', string.match(e, '^%d+'))
end
call('ZREMRANGEBYRANK', P .. 'audit', 0, -most - 1)
dropStaged()
return { 'ok' }
