-- dropOrders drops commands that were not fetched in time. They are stored in the order of their times.
local function dropOrders(key, kept)
  local first = call('LINDEX', key, 0)
  while first and now - tonumber(string.match(first, '^%d+')) >= kept do
    call('LPOP', key)
    first = call('LINDEX', key, 0)
  end
end
