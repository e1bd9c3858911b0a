-- Inserts jobs, all or none: returns the ID that is stored for each. ARGV: jobs.
local new, ids = {}, { 'ok' }
for i = 1, #ARGV do new[i] = cmsgpack.unpack(ARGV[i]) end
local there = firstThere(new)
if there then return { 'there', there } end
for i = 1, #new do ids[i + 1] = insert(new[i]) end
done()
return ids
