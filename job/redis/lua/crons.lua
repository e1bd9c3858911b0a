-- Returns the crons, each as its fields.
local crons = {}
for i, name in ipairs(call('ZRANGE', P .. 'crons', 0, -1)) do crons[i] = call('HGETALL', P .. 'cron:' .. name) end
return crons
