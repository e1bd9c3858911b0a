-- Writes the outcomes of running jobs. ARGV: session, the number of outcomes, these, then the jobs that follow, each after the number of the outcome
-- that it follows. Returns the numbers of the lost ones.
local session, n = ARGV[1], tonumber(ARGV[2])
local outcomes, held, lost, ids = {}, {}, { 'ok' }, {}
for i = 3, n + 2 do
  local o = cmsgpack.unpack(ARGV[i])
  for at = 1, #o[1], 16 do
    ids[#ids + 1] = string.sub(o[1], at, at + 15)
    outcomes[#ids] = o
  end
end
fetch(ids)
for i = 1, #ids do
  held[i] = heldBy(session, ids[i], outcomes[i]) or false
  if not held[i] then lost[#lost + 1] = i end
end
local new = {}
for i = n + 3, #ARGV, 2 do
  if held[tonumber(ARGV[i])] then new[#new + 1] = cmsgpack.unpack(ARGV[i + 1]) end
end
local there = firstThere(new)
if there then return { 'there', there } end

evenFull()
for i = 1, #ids do
  -- If a job has two outcomes, the first one counts.
  if held[i] and heldBy(session, ids[i], outcomes[i]) then settle(held[i], outcomes[i]) end
end
for i = 1, #new do insert(new[i]) end
done()
return lost
