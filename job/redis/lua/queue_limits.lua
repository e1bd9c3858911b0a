-- The limits of a queue and of single keys, as they are stored.

local function numbers(text)
  local v = {}
  for n in string.gmatch(text, '%d+') do v[#v + 1] = tonumber(n) end
  return v
end

local function rateOf(v, i) return { n = v[i] or 0, per = v[i + 1], burst = v[i + 2] } end
local function weight(n) return math.max(n or 1, 1) end

-- limitsFrom reads the limits of a queue that are stored as numbers, and how many keys have limits of their own.
local function limitsFrom(x, overrides)
  local v = numbers(x)
  return {
    running = v[1] or 0, starts = rateOf(v, 2), units = rateOf(v, 10), inOrder = v[9] == 1, hold = v[17] == 1, overrides = overrides,
    eachKey = { running = v[5] or 0, starts = rateOf(v, 6), units = rateOf(v, 13), weight = weight(v[16]) },
  }
end

-- keyLimits reads the limits of one key that are stored as numbers.
local function keyLimits(x)
  local v = numbers(x)
  return { running = v[1], starts = rateOf(v, 2), units = rateOf(v, 5), weight = weight(v[8]) }
end

-- After limitsOf was called for a queue, used has the priorities that jobs of the queue with limit keys have had: one digit each.
local used = {}

-- limitsOf returns the limits of a queue, or nil if neither it nor one of its keys has any. Times are in microseconds.
local limitsCache = {}
local function limitsOf(q)
  local l = limitsCache[q]
  if l == nil then
    local v = call('HMGET', P .. 'q:' .. q, 'x', 'ov', 'pm')
    used[q] = v[3] or ''
    local overrides = tonumber(v[2] or 0)
    l = (v[1] or overrides > 0) and limitsFrom(v[1] or '', overrides) or false
    limitsCache[q] = l
  end
  return l or nil
end
