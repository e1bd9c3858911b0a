-- Looks for a key under the name. ARGV: where to go on. Returns where to go on, and one that was found, or "".
local page = call('SCAN', ARGV[1], 'MATCH', P .. '*', 'COUNT', 2000)
return { page[1], page[2][1] or '' }
