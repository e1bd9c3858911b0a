-- Notes a tick of a cron, with its job. ARGV: cron, spec, when, the next one, and a new job, or nothing. Returns 1 if the job was enqueued or its
-- unique key is held, 0 if the tick does not count.
local key = P .. 'cron:' .. ARGV[1]
local last, paused = unpack(call('HMGET', key, 'last', 'paused'))
if #ARGV > 4 then
  local a = cmsgpack.unpack(ARGV[5])
  local counts = not paused and not (last and tonumber(last) >= tonumber(ARGV[3]))
  if counts and firstThere({ a }) then return { 'there', a[1] } end
  call('HSET', key, 'name', ARGV[1], 'noted', int(now))
  call('ZADD', P .. 'crons', int(now), ARGV[1])
  if not counts then return { 'ok', 0 } end
  local id = insert(a)
  call('HSET', key, 'spec', ARGV[2], 'last', ARGV[3], 'next', ARGV[4], 'job', id)
  done()
  return { 'ok', 1 }
end
call('HSET', key, 'name', ARGV[1], 'noted', int(now), 'spec', ARGV[2], 'next', ARGV[4])
call('ZADD', P .. 'crons', int(now), ARGV[1])
if not last then
  if ARGV[3] == '' then
    call('HSET', key, 'last', int(now))
  else
    call('HSET', key, 'last', ARGV[3])
  end
end
return { 'ok', 0 }
