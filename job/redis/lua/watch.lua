-- Watches a job. ARGV: its ID, how long. Returns 0 if there is no such job, 1 if there is no tree, or the tree.
local j = load(ARGV[1])
if not j then return 0 end
if j.s ~= 'queued' and j.s ~= 'running' then return 1 end
local till = call('ZSCORE', P .. 'watches', j.id)
if not till or tonumber(till) <= now then
  till = 0
  call('HDEL', P .. 'trees', j.id)
end
local longer = now + ARGV[2]
if longer > tonumber(till) then call('ZADD', P .. 'watches', int(longer), j.id) end
local tree = call('HGET', P .. 'trees', j.id)
if not tree or j.s ~= 'running' or tonumber(string.match(tree, '^%d+')) ~= j.n then return 1 end
return tree
