-- Deletes finished jobs that are older than their retention, the oldest first. ARGV: how many at most, then states, each with its
-- retention. Returns how many it deleted.
local deleted, most = 0, tonumber(ARGV[1])
evenFull()
-- Of each state so many of the oldest as may be deleted.
local heads = {}
for i = 2, #ARGV, 2 do
  local till = int(now - tonumber(ARGV[i + 1]))
  local page = call('ZRANGEBYSCORE', P .. 'f:' .. ARGV[i], '-inf', '(' .. till, 'WITHSCORES', 'LIMIT', 0, most)
  heads[#heads + 1] = { page = page, at = 1 }
end
while deleted < most do
  local oldest, id, when
  for _, h in ipairs(heads) do
    local e, score = h.page[h.at], tonumber(h.page[h.at + 1])
    if e and (not oldest or score < when or score == when and e < id) then
      oldest, id, when = h, e, score
    end
  end
  if not oldest then break end
  oldest.at = oldest.at + 2
  local j = load(id)
  unlink(j)
  remove(j) -- its unique key stays as long as it says
  deleted = deleted + 1
end
done()
return deleted
