-- A job is one value, a stream of MessagePack in three parts: values that each claim and outcome changes (9), that seldom change (11), and that only
-- a replacement changes (6), see keys.md. An unchanged part is written as it was read.
local stateOf = { q = 'queued', r = 'running', c = 'completed', d = 'discarded', x = 'canceled' }
local letterOf = { queued = 'q', running = 'r', completed = 'c', discarded = 'd', canceled = 'x' }
local hasKey, hasMeta, hasArgs = 1, 2, 4 -- flags: a unique key, a meta ID, args that are stored separately
local function has(j, flag) return j.fl % (2 * flag) >= flag end

local unpackSome = cmsgpack.unpack_limit

local function parse(v)
  local cold, s, n, x, se, ca, st, f, w, d = unpackSome(v, 9, 0)
  local rest, q, p, k, l, r, c, m, fl, sp, di, ho = unpackSome(v, 11, cold)
  return {
    s = stateOf[s], n = n, x = x % 2 == 1, xp = x >= 2, se = se, ca = ca, st = st, f = f, w = w, d = d,
    q = q, p = p, k = k, l = l, r = r, c = c, m = m, fl = fl, sp = sp, di = di, ho = ho, cold = cold, rest = rest, kept = v,
  }
end

-- Jobs that were inserted or claimed together have the same first two parts. A job with the same parts as the one before shares them: it looks up
-- there the fields that it has not set itself. The fields that claims and outcomes set are in its own table from the start, since growing a table
-- costs more.
local read
do
  local head, headText, last
  read = function(id, v)
    if last and string.sub(v, 1, last.rest) == string.sub(last.kept, 1, last.rest) then
      head, headText, last = parse(v), string.sub(v, 1, last.rest), nil
      head.__index = head
    end
    local h = head
    if h and string.sub(v, 1, h.rest) == headText then
      return setmetatable({ id = id, kept = v, s = h.s, n = h.n, x = h.x, se = h.se, ca = h.ca, st = h.st, f = h.f, w = h.w, d = h.d }, h)
    end
    last = parse(v)
    last.id = id
    return last
  end
end

-- tailOf returns the third part of a job.
local function tailOf(j)
  if not j.tail then
    if not j.rest then j.rest = unpackSome(j.kept, 11, j.cold) end
    j.tail = string.sub(j.kept, j.rest + 1)
  end
  return j.tail
end

-- more decodes the parts of a job that are seldom needed.
local function more(j)
  if not j.u then
    local _, u, uf, mi, co, o = unpackSome(tailOf(j), 5, 0)
    j.u, j.uf, j.mi, j.co, j.o = u, uf, mi, co, o
  end
  return j
end

-- hot returns the first part of a job. Jobs that are written together usually have the same.
local same, hotOfSame = {}, nil
local function hot(j)
  local x = (j.x and 1 or 0) + (j.xp and 2 or 0)
  local a = same
  if a.s ~= j.s or a.n ~= j.n or a.x ~= x or a.st ~= j.st or a.ca ~= j.ca or a.se ~= j.se or a.w ~= j.w or a.d ~= j.d or a.f ~= j.f then
    a.s, a.n, a.x, a.st, a.ca, a.se, a.w, a.d, a.f = j.s, j.n, x, j.st, j.ca, j.se, j.w, j.d, j.f
    hotOfSame = cmsgpack.pack(letterOf[j.s], j.n, x, j.se, j.ca, j.st, j.f, j.w, j.d)
  end
  return hotOfSame
end

-- textOf returns the current value of a job.
local function textOf(j)
  if not j.text then
    if j.all then
      j.text = hot(j) .. cmsgpack.pack(j.q, j.p, j.k, j.l, j.r, j.c, j.m, j.fl, j.sp, j.di, j.ho) .. tailOf(j)
    else
      j.text = hot(j) .. string.sub(j.kept, j.cold + 1)
    end
  end
  return j.text
end
