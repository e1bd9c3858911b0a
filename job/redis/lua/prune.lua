-- Deletes finished jobs that are older than their retention, oldest first. ARGV: the limit, then states, each with its retention. Returns how many it
-- deleted, and 1 if there may be more.
local deleted, most, more = 0, tonumber(ARGV[1]), 0
evenFull()
-- The oldest jobs of each state: as many as may be deleted.
local oldest, ids = {}, {}
for i = 2, #ARGV, 2 do
  local state, till, from, n, size = ARGV[i], int(now - tonumber(ARGV[i + 1])), 0, 0, 2
  while n < most do
    local page = call('ZRANGEBYSCORE', P .. 'f:' .. state, '-inf', '(' .. till, 'WITHSCORES', 'LIMIT', from, size)
    for m = 1, #page, 2 do
      local at = tonumber(page[m + 1])
      for b = 1, #page[m], 16 do
        local id = string.sub(page[m], b, b + 15)
        ids[#ids + 1], n = id, n + 1
        oldest[#oldest + 1] = { id = id, at = at, state = state }
      end
    end
    if #page < 2 * size then break end
    from, size = from + size, math.min(2 * size, 50)
    if n >= most then more = 1 end
  end
end
table.sort(oldest, function(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return idLess(a.id, b.id)
end)
fetch(ids)
for _, o in ipairs(oldest) do
  if deleted == most then
    more = 1
    break
  end
  local j = load(o.id)
  if j and j.s == o.state and j.f == o.at then
    unlink(j)
    remove(j) -- its unique key is kept until its time has passed
    deleted = deleted + 1
  else
    leaveEnded(o.state, o.at, o.id)
  end
end
done()
return { deleted, more }
