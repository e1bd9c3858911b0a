-- Inserts jobs, all or none: returns the ID that is stored for each. ARGV: the staged parts, jobs.
local a = staged()
if not a then return redis.error_reply('STAGE the parts of a large call are gone: call again') end
local jobs = {}
for i = 1, #a do jobs[i] = cmsgpack.unpack(a[i]) end
local there = firstThere(jobs)
if there then return { 'there', there } end
single = #jobs == 1
local ids = { 'ok' }
for i = 1, #jobs do ids[i + 1] = insert(jobs[i]) end
dropStaged()
done()
return ids
