-- staged returns the arguments of the script: those behind the first, or, where that names a list of parts that were sent before, what is in
-- it, followed by them. Such a list goes by itself when nobody comes for it.
local function staged()
  local a = {}
  if ARGV[1] ~= '' then
    local parts = call('LRANGE', P .. 'stage:' .. ARGV[1], 0, -1)
    if #parts == 0 then return nil end
    for i = 1, #parts do a[i] = parts[i] end
  end
  for i = 2, #ARGV do a[#a + 1] = ARGV[i] end
  return a
end

local function dropStaged()
  if ARGV[1] ~= '' then call('DEL', P .. 'stage:' .. ARGV[1]) end
end
