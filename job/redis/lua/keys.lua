-- The names of keys, and the time: every script starts with this text. KEYS[1] is the prefix of all keys, "{name}:". keys.md describes each key.

local P = KEYS[1]
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- int formats a whole number, which may be a time in microseconds.
local function int(n) return string.format('%.0f', n) end
local nowText = int(now)

-- evenFull lets the following writes succeed when the server is out of memory: Redis lets a script finish whose first command frees memory.
local function evenFull() call('DEL', P .. 'none') end

local J, A = P .. 'j', P .. 'a'
local function readyKey(q, l, p) return P .. 'r:' .. p .. ':' .. q .. '\n' .. l end
local function listKey(q, p) return P .. 'y:' .. p .. ':' .. q end
local function orderKey(q, l) return P .. 'o:' .. q .. '\n' .. l end
local function holdKey(epoch, q, l) return P .. 'd:' .. epoch .. ':' .. q .. '\n' .. l end
local function className(s, q, k) return s .. '\n' .. q .. '\n' .. k end

-- idLess reports whether the ID that a starts with is less than that of b, by their bytes. The operators of Lua compare texts as the locale of the
-- server says.
local function idLess(a, b)
  local a1, a2, a3, a4 = struct.unpack('>I4I4I4I4', a)
  local b1, b2, b3, b4 = struct.unpack('>I4I4I4I4', b)
  if a1 ~= b1 then return a1 < b1 end
  if a2 ~= b2 then return a2 < b2 end
  if a3 ~= b3 then return a3 < b3 end
  return a4 < b4
end
