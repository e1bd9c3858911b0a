-- Writes what became of running jobs. ARGV: session, how many outcomes, those, then the jobs that follow, each with the number of the outcome
-- that it follows before it. Returns the numbers of the lost ones.
local session, n = ARGV[1], tonumber(ARGV[2])
local outcomes, jobs, lost = {}, {}, { 'ok' }
for i = 1, n do
  local o = cmsgpack.unpack(ARGV[i + 2])
  outcomes[i], jobs[i] = o, heldBy(session, o)
  if not jobs[i] then lost[#lost + 1] = i end
end
local new = {}
for i = n + 3, #ARGV, 2 do
  if jobs[tonumber(ARGV[i])] then new[#new + 1] = cmsgpack.unpack(ARGV[i + 1]) end
end
local there = firstThere(new)
if there then return { 'there', there } end

evenFull()
single = n + #new == 1
for i = 1, n do
  if jobs[i] then settle(jobs[i], outcomes[i]) end
end
for i = 1, #new do insert(new[i]) end
done()
return lost
