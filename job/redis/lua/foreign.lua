-- Scans for a key that begins with the name. ARGV: the cursor. Returns the next cursor, and a key that was found, or "".
local page = call('SCAN', ARGV[1], 'MATCH', P .. '*', 'COUNT', 2000)
return { page[1], page[2][1] or '' }
