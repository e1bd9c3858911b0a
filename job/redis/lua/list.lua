-- Lists jobs. ARGV: the filter, hi, lo, the limit, then the candidate IDs, if it is by ID. Returns the ID to continue before, or "", and jobs.
local f, limit = cjson.decode(ARGV[1]), tonumber(ARGV[4])
local list, bytes = {}, 0
local function visit(id)
  bytes = bytes + whole(list, load(id))
  return #list == 2 * limit or bytes > 4000000
end
local last
if f.by_id then
  last = eachOf(f, ARGV, 5, visit)
else
  last = scan(f, ARGV[2], ARGV[3], visit)
end
return { last or '', list }
