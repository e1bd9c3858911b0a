-- staged returns the arguments of the script except the first. If the first argument names a list of parts that were sent before, the content of
-- that list comes first. Such a list expires if no call uses it.
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
