-- Compares some queued jobs of the queue ARGV[1] and the kind ARGV[2] with the lanes that should have them: about ARGV[4] jobs, from the cursor
-- ARGV[3] of ZSCAN on. Returns the next cursor, and the keys that differed, each with what was wrong.
local name, kind = ARGV[1], ARGV[2]
local page = call('ZSCAN', classKey('queued', name, kind), ARGV[3], 'COUNT', ARGV[4])
local found, known = { page[1] }, {}
evenFull()

-- belongs adds a member to a sorted set, and returns true if it was missing.
local function belongs(key, score, member)
  if tonumber(call('ZSCORE', key, member) or -1) == score then return false end
  call('ZADD', key, int(score), member)
  return true
end

-- Jobs without a key may be in a list.
local inLists = absorb(name)

local ids = {}
for i = 1, #page[2], 2 do ids[#ids + 1] = page[2][i] end
fetch(ids)

for i = 1, #page[2], 2 do
  local j = load(page[2][i])
  if j and j.s == 'queued' and j.q == name then
    local wrong
    local missing = not (inLists and j.l == '') and belongs(readyKey(name, j.l, j.p), j.r, j.id .. j.k)
    if j.l ~= '' then
      missing = belongs(orderKey(name, j.l), j.c, j.id .. j.k) or missing
      missing = belongs(P .. 'k:' .. name, j.r, j.id) or missing
      if call('HEXISTS', P .. 'l:' .. name, j.l) == 0 and not call('ZSCORE', P .. 't:' .. name, j.l) then wrong = 'it had no entry' end
    end
    if missing then wrong = 'queued jobs were not in its line' end
    if wrong then
      touch(name, j.l)
      wake(name)
      if not known[j.l] then
        known[j.l] = true
        found[#found + 1] = j.l
        found[#found + 1] = wrong
      end
    end
  end
end
done()
return found
