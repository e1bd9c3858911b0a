-- Converts a store of schema 2, a few hundred jobs at a time. Returns "more" until it has schema 3. Repeated steps change nothing, so several
-- programs may run it at once, and if one crashes, others continue. Programs for schema 2 that still run, or run later, get an error from each
-- call: the key of their long call exists, but is of another type. Returns "half" if a real long call of theirs is partly written, which only
-- such a program can finish.
local meta, todo, long = P .. 'meta', P .. 'converting', P .. 'long'
local schema, after = unpack(call('HMGET', meta, 'schema', 'converted'))
if schema ~= '2' and schema ~= '2 to 3' then return 'done' end

if schema == '2' then
  if call('TYPE', long).ok == 'hash' then
    local phase, token = unpack(call('HMGET', long, 'phase', 'token'))
    if tonumber(phase) > 2 then return 'half' end
    evenFull()
    call('DEL', long, P .. 'stage:' .. token, P .. 'answer:' .. token) -- the long call has not written anything yet
  end
  evenFull()
  call('SET', long, 'schema 3')
  call('HSET', meta, 'schema', '2 to 3')
  call('DEL', P .. 'noting')
  for _, q in ipairs(call('SMEMBERS', P .. 'laned')) do call('HSET', P .. 'q:' .. q, 'pm', '123456789') end
  for _, class in ipairs(call('SMEMBERS', P .. 'classes')) do call('RPUSH', todo, class) end
  return 'more'
end

evenFull()
local class = call('LINDEX', todo, 0)
if not class then
  call('DEL', todo)
  call('HDEL', meta, 'converted')
  call('HSET', meta, 'schema', '3')
  return 'done'
end

-- converted returns the job that schema 2 stored, and the number of the claim that took it; nil if the job is gone.
local function converted(id)
  local fields, v = call('HGETALL', P .. 'j:' .. id), {}
  for i = 1, #fields, 2 do v[fields[i]] = fields[i + 1] end
  if not v.s then return nil end
  local args = v.a0 and (v.a0 .. (v.a1 or '') .. (v.a2 or '') .. (v.a3 or '')) or call('GET', P .. 'a:' .. id) or ''
  local function number(name) return tonumber(v[name] or 0) end
  local j = {
    id = id, s = v.s, n = number('n'), x = v.x ~= nil, xp = v.xp ~= nil, se = '', ca = 0, st = number('st'), f = number('f'), w = v.w or '', d = v.d or '',
    q = v.q, p = number('p'), k = v.k, l = v.l or '', r = number('r'), c = number('c'), m = number('m'), fl = 0, sp = number('sp'), di = number('di'),
    ho = v.ho or '', all = true,
  }
  if v.u then j.fl = j.fl + hasKey end
  if v.mi then j.fl = j.fl + hasMeta end
  if #args > 512 then
    j.fl = j.fl + hasArgs
    call('HSET', A, id, args)
    args = ''
  end
  j.tail = cmsgpack.pack(v.u or '', number('uf'), v.mi or '', number('co'), v.o or '', args)
  return j, v.se, number('ca')
end

local ids = call('ZRANGEBYLEX', P .. 'c:' .. class, after or '-', '+', 'LIMIT', 0, 100)
local held = {}
for i = 1, #ids do
  local j, session, number = converted(ids[i])
  if j then
    save(j)
    if j.s == 'running' then
      call('ZREM', P .. 'h:' .. session, j.id)
      held[session] = held[session] or {}
      held[session][number] = held[session][number] or {}
      table.insert(held[session][number], j)
    end
  end
  call('DEL', P .. 'j:' .. ids[i], P .. 'a:' .. ids[i])
end
for session, calls in pairs(held) do
  for number, list in pairs(calls) do holdBatch(session, number, list) end
end
done()
if #ids == 100 then
  call('HSET', meta, 'converted', '(' .. ids[100])
else
  call('LPOP', todo)
  call('HDEL', meta, 'converted')
end
return 'more'
