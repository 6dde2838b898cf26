"""What is done inside the server, in one go each and unseen by others until it is done: scripts in Lua.

Every key begins with {NAME}: so that the crawls of one server do not meet, and so that a Redis Cluster keeps those of
one crawl together. ARGV[1] is that prefix. `claims.py` and `shared.py` tell what the keys hold and why.

The server runs one script at a time, so a script is for as many claims as take a few milliseconds (`CLAIMS_AT_ONCE`).
All that it reads and writes follows from its arguments and the server's own clock.
"""

from __future__ import annotations

ENTRY_BYTES = 48
BUCKET_MAX = 128  # entries; the newest stay
BLOCK_BITS = 28  # of a SimHash, below and above (process/fingerprints/near.py)

# An entry is 8 bytes of SimHash, 16 of the sketch, 8 that stand for the URL, and 16 of the digest of the content.
_COMMON = (
    f"""
local prefix = ARGV[1]
local ENTRY, KEPT, LOW = {ENTRY_BYTES}, {ENTRY_BYTES * (BUCKET_MAX - 1)}, {(1 << BLOCK_BITS) - 1}
"""
    + """
-- Whether somebody claims it who does not own its partition any more. A claim of a later epoch says as much as
-- `begin` does: should the table of epochs fall out of the memory, it comes back by itself.
local epochs = {}
local function is_late(partition, epoch)
  epoch = tonumber(epoch)
  local known = epochs[partition] or tonumber(redis.call('HGET', prefix .. 'epochs', partition) or 0)
  if epoch > known then
    redis.call('HSET', prefix .. 'epochs', partition, epoch)
    known = epoch
  end
  epochs[partition] = known
  return epoch < known
end

-- Two rows of a claim, '?' or '=', 8 bytes of time, 4 of length, URL, sketch: are they of the same URL?
local function is_same_url(one, other)
  local ends = 13 + struct.unpack('>I4', one, 10)
  return string.sub(one, 10, ends) == string.sub(other, 10, ends)
end

-- The buckets of the lower and of the upper block of a SimHash.
local function buckets(entry)
  local high, low = struct.unpack('>I4I4', entry)
  return bit.band(low, LOW), bit.rshift(high, 4) + LOW + 1
end

local function bucket_key(bucket)
  return prefix .. 'n' .. struct.pack('>I4', bucket)
end

-- A bucket without the entries of which these bytes are the part that begins at `place`.
local function without(row, what, place)
  local from = 1
  while true do
    local found = string.find(row, what, from, true)
    if not found then return row end
    if (found - place) % ENTRY == 0 then
      from = found - place + 1
      row = string.sub(row, 1, from - 1) .. string.sub(row, from + ENTRY)
    else
      from = found + 1
    end
  end
end

-- One entry for a URL: the versions of a page that changes a little would else push all others out.
local function add(entry)
  local who = string.sub(entry, 25, 32)
  for _, bucket in ipairs({buckets(entry)}) do
    local key = bucket_key(bucket)
    local row = redis.call('GET', key) or ''
    if not string.find(row, entry, 1, true) then
      redis.call('SET', key, string.sub(without(row, who, 25), -KEPT) .. entry)
    end
  end
end
"""
)

# ARGV: prefix, milliseconds that an unsettled claim lasts, bits to flip; then of each claim its partition, epoch,
# digest, row and entry. Gives two strings for each: the row that was there ('': it is ours now, '!': it comes too
# late), and all that is in the buckets around it. Those are for whoever claims it, and for whoever meets an unsettled
# claim of the same bytes: that one may turn out to be a near copy, and be given back in the same batch.
JUDGE = (
    _COMMON
    + """
local near, pack, bxor = prefix .. 'n', struct.pack, bit.bxor
local masks = {0}
if ARGV[3] ~= '0' then
  for one = 0, 27 do masks[#masks + 1] = bit.lshift(1, one) end
end
if ARGV[3] == '2' then
  for one = 0, 27 do
    for other = one + 1, 27 do masks[#masks + 1] = bit.bor(bit.lshift(1, one), bit.lshift(1, other)) end
  end
end

local function around(entry)
  if entry == '' then return '' end
  local lower, upper = buckets(entry)
  local keys, count = {}, #masks
  for at = 1, count do  -- two thirds of the time of a claim, so it is spelt out
    keys[at] = near .. pack('>I4', bxor(lower, masks[at]))
    keys[count + at] = near .. pack('>I4', bxor(upper, masks[at]))
  end
  local rows = {}
  for _, row in ipairs(redis.call('MGET', unpack(keys))) do
    if row then rows[#rows + 1] = row end
  end
  return table.concat(rows)
end

local answers = {}
for at = 4, #ARGV, 5 do
  local key, row, entry = prefix .. 'c' .. ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local known, found = '!', ''
  if not is_late(ARGV[at], ARGV[at + 1]) then
    known = redis.call('GET', key) or ''
    local is_open = string.sub(known, 1, 1) == '?'
    if is_open and is_same_url(known, row) then
      redis.call('PEXPIRE', key, ARGV[2])  -- the page is repeated: it is an original as before
      known = ''
    elseif is_open then
      found = around(entry)
    elseif known == '' then
      found = around(entry)
      redis.call('SET', key, row, 'PX', ARGV[2])
      if entry ~= '' then add(entry) end
    end
  end
  answers[#answers + 1], answers[#answers + 2] = known, found
end
return answers
"""
)

# ARGV: prefix; then as above. The page is stored: the row stays, and its entries are there whatever fell out.
SETTLE = (
    _COMMON
    + """
for at = 2, #ARGV, 5 do
  if not is_late(ARGV[at], ARGV[at + 1]) then
    redis.call('SET', prefix .. 'c' .. ARGV[at + 2], ARGV[at + 3])
    if ARGV[at + 4] ~= '' then add(ARGV[at + 4]) end
  end
end
"""
)

# ARGV: prefix; then digest, row and entry of claims that are near copies of something, or have to wait.
GIVE_BACK = (
    _COMMON
    + """
for at = 2, #ARGV, 3 do
  local key, row, entry = prefix .. 'c' .. ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local known = redis.call('GET', key) or ''
  if string.sub(known, 1, 1) == '?' and is_same_url(known, row) then redis.call('DEL', key) end
  for _, bucket in ipairs({buckets(entry)}) do
    local left = without(redis.call('GET', bucket_key(bucket)) or '', entry, 1)
    if left == '' then redis.call('DEL', bucket_key(bucket)) else redis.call('SET', bucket_key(bucket), left) end
  end
end
"""
)

# ARGV: prefix; then partitions, each with the epoch in which somebody owns it. It writes in any case: whoever asks
# wants to know whether the server takes writes.
BEGIN = (
    _COMMON
    + """
for at = 2, #ARGV, 2 do is_late(ARGV[at], ARGV[at + 1]) end
redis.call('SET', prefix .. 'here', '', 'PX', 60000)
"""
)

# ARGV: prefix; requests a second and burst of an address; requests and bytes a second of the crawl (0: no limit);
# longest hold, burst in seconds, bytes expected of the first request; then address and surplus of each request. What
# is asked here is what pace.py and rate_limiter.py answer within one process. Gives four numbers for each request:
# wait_s, hold_s, bytes charged, and 1 where the wait is for the pace of the crawl.
#
# A limiter is kept as the seconds by which it is ahead and the moment at which that was counted, so that a clock that
# is set back, or that of another server after a failover, lets nobody wait for hours. It has its rate in its key: a
# new limit begins anew, as it does within one process.
PACE = """
local prefix, per_s, burst = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local hold_s_max, burst_s = tonumber(ARGV[6]), tonumber(ARGV[7])
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000

local function numbers(key, first)
  local kept = redis.call('GET', key)
  if not kept then return first, now end
  return struct.unpack('>dd', kept)
end

local function keep(key, value, for_s)
  redis.call('SET', key, struct.pack('>dd', value, now), 'PX', math.ceil(for_s * 1000) + 1000)
end

local function wait_for(address)
  local key = prefix .. 'p' .. address
  local tokens, counted_at = numbers(key, burst)
  tokens = math.min(burst, tokens + math.max(0, now - counted_at) * per_s)
  local wait_s = 0
  if tokens >= 1 then tokens = tokens - 1 else wait_s = (1 - tokens) / per_s end
  keep(key, tokens, (burst - tokens) / per_s)  -- forgotten when it is full again
  return wait_s
end

local function limiter(kind, rate)
  if rate == '0' then return nil end
  local key = prefix .. kind .. rate
  local ahead_s, counted_at = numbers(key, -1e9)
  return {key = key, rate = tonumber(rate), ahead_s = ahead_s - math.max(0, now - counted_at)}
end

local requests, bytes = limiter('r', ARGV[4]), limiter('b', ARGV[5])
local mean_bytes = bytes and numbers(prefix .. 'mean', tonumber(ARGV[8]))

local function slot_s(one)
  return one and math.max(0, one.ahead_s - burst_s) or 0
end

local function take(one, cost)
  if one then one.ahead_s = math.max(one.ahead_s, 0) + cost / one.rate end
end

local answers = {}
for at = 9, #ARGV, 2 do
  local surplus = tonumber(ARGV[at + 1])
  if bytes and surplus ~= 0 then
    mean_bytes = math.max(1000, mean_bytes + surplus / 20)
    bytes.ahead_s = bytes.ahead_s + surplus / bytes.rate
  end
  local wait_s, hold_s, charged, is_crawl = wait_for(ARGV[at]), 0, 0, 0
  if wait_s == 0 then
    hold_s = math.max(slot_s(requests), slot_s(bytes))
    if hold_s > hold_s_max then
      wait_s, hold_s, is_crawl = hold_s - hold_s_max / 2, 0, 1
    else
      charged = bytes and math.floor(mean_bytes) or 0
      take(requests, 1)
      take(bytes, charged)
    end
  end
  answers[#answers + 1] = struct.pack('>dddd', wait_s, hold_s, charged, is_crawl)
end
for _, one in ipairs({requests or bytes, requests and bytes}) do
  keep(one.key, one.ahead_s, math.max(one.ahead_s, 0) + 60)
end
if bytes then keep(prefix .. 'mean', mean_bytes, 3600) end
return table.concat(answers)
"""
