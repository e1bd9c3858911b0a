-- Deletes finished jobs that are older than their retention, the oldest first. ARGV: how many at most, then states, each with its
-- retention. Returns how many it deleted.
local deleted = 0
evenFull()
while deleted < tonumber(ARGV[1]) do
  local oldest, when
  for i = 2, #ARGV, 2 do
    local e = call('ZRANGE', P .. 'f:' .. ARGV[i], 0, 0, 'WITHSCORES')
    if e[1] and now - tonumber(e[2]) > tonumber(ARGV[i + 1]) and (not oldest or tonumber(e[2]) < when or tonumber(e[2]) == when and e[1] < oldest) then
      oldest, when = e[1], tonumber(e[2])
    end
  end
  if not oldest then break end
  local j = load(oldest)
  unlink(j)
  remove(j) -- its unique key stays as long as it says
  deleted = deleted + 1
end
done()
return deleted
