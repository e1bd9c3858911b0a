-- Inserts jobs, all or none: returns the ID that is stored for each. ARGV: jobs.
local jobs, ids = {}, { 'ok' }
for i = 1, #ARGV do jobs[i] = cmsgpack.unpack(ARGV[i]) end
local there = firstThere(jobs)
if there then return { 'there', there } end
single = #jobs == 1
for i = 1, #jobs do ids[i + 1] = insert(jobs[i]) end
done()
return ids
