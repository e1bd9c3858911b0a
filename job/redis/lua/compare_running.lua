-- Compares the number of running jobs of the queue ARGV[1], by limit key, with the stored counts. If more than ARGV[2] are running, it compares
-- only the sums. Returns the keys that differed, each with what was wrong.
local name, most = ARGV[1], tonumber(ARGV[2])
local prefix, sets, sum = 'running\n' .. name .. '\n', {}, 0
for _, class in ipairs(call('SMEMBERS', P .. 'classes')) do
  if string.sub(class, 1, #prefix) == prefix then
    sets[#sets + 1] = P .. 'c:' .. class
    sum = sum + call('ZCARD', sets[#sets])
  end
end
local running = { [''] = sum }
if sum <= most then
  for _, set in ipairs(sets) do
    local ids = call('ZRANGE', set, 0, -1)
    fetch(ids)
    for _, id in ipairs(ids) do
      local j = load(id)
      if j and j.l ~= '' then running[j.l] = (running[j.l] or 0) + 1 end
    end
  end
end
local kept, counts, found = call('HGETALL', P .. 'n:' .. name), {}, {}
for i = 1, #kept, 2 do
  counts[kept[i]] = tonumber(kept[i + 1])
  if sum <= most or kept[i] == '' then running[kept[i]] = running[kept[i]] or 0 end
end
evenFull()
for l, n in pairs(running) do
  local before = counts[l] or 0
  if before ~= n then
    if n > 0 then
      call('HSET', P .. 'n:' .. name, l, n)
    else
      call('HDEL', P .. 'n:' .. name, l)
    end
    found[#found + 1] = l
    found[#found + 1] = 'the count of its running jobs was ' .. int(before) .. ' instead of ' .. int(n)
    touch(name, l)
    wake(name)
  end
end
done()
return found
