-- Jobs without a limit key that are due at once wait in lists: each is its ID, and when it is due, as eight bytes. An item whose job is not queued any
-- more, or otherwise, is left out when it is read: nothing is taken from the middle of a list.
local dueNow = struct.pack('>d', now)

-- idsIn returns the IDs of items, whose jobs it has read at once.
local function idsIn(items)
  local ids = {}
  for i = 1, #items do ids[i] = string.sub(items[i], 1, 16) end
  fetch(ids)
  return ids
end

-- waiting returns the job of an item of a list, nil where the item is left out. The time is unpacked once where items have the same, as most do.
local waiting
do
  local lastDue, lastTime
  waiting = function(q, p, id, item)
    local j = load(id)
    if not j or j.s ~= 'queued' or j.q ~= q or j.p ~= p or j.l ~= '' then return nil end
    local due = string.sub(item, 17)
    if due ~= lastDue then lastDue, lastTime = due, struct.unpack('>d', due) end
    if j.r == lastTime then return j end
  end
end

local function writeLists()
  for key, items in pairs(lists) do
    for i = 2, #items do
      if items[i] < items[i - 1] then
        table.sort(items)
        break
      end
    end
  end
  writeAll('RPUSH', lists)
  lists = {}
end
