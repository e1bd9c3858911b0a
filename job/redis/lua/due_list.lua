-- Jobs without a limit key that are due at once are in lists, each as its ID and its due time in eight bytes. An item whose job is no longer queued,
-- or queued elsewhere, is skipped when it is read: items are never removed from the middle of a list.
local dueNow = struct.pack('>d', now)

-- idsIn returns the IDs of items, and reads all their jobs.
local function idsIn(items)
  local ids = {}
  for i = 1, #items do ids[i] = string.sub(items[i], 1, 16) end
  fetch(ids)
  return ids
end

-- waiting returns the job of an item, or nil if the item is to be skipped. Most items have the same time, which is unpacked once.
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
      if idLess(items[i], items[i - 1]) then
        table.sort(items, idLess)
        break
      end
    end
  end
  writeAll('RPUSH', lists)
  lists = {}
end
