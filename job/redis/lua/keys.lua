-- The names of keys, and the time: this text stands before each script. KEYS[1] is the prefix of all keys, "{name}:". keys.md says what each key holds.

local P = KEYS[1]
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- int writes a whole number, which may be a time in microseconds.
local function int(n) return string.format('%.0f', n) end
local nowText = int(now)

-- evenFull makes the writes that follow go through when the server is out of memory: after a first command that
-- frees memory Redis lets a script finish.
local function evenFull() call('DEL', P .. 'none') end

local J, A = P .. 'j', P .. 'a'
local function readyKey(q, l, p) return P .. 'r:' .. p .. ':' .. q .. '\n' .. l end
local function listKey(q, p) return P .. 'y:' .. p .. ':' .. q end
local function orderKey(q, l) return P .. 'o:' .. q .. '\n' .. l end
local function holdKey(epoch, q, l) return P .. 'd:' .. epoch .. ':' .. q .. '\n' .. l end
local function className(s, q, k) return s .. '\n' .. q .. '\n' .. k end

