-- Scans for a key that begins with the name of a store that does not exist. ARGV: the cursor. Returns the next cursor, and a key that was found, or "".
-- If another program has created the store since, its keys are not foreign.
if call('EXISTS', P .. 'meta') == 1 then return { '0', '' } end
local page = call('SCAN', ARGV[1], 'MATCH', P .. '*', 'COUNT', 2000)
return { page[1], page[2][1] or '' }
