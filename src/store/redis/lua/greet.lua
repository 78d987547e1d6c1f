-- Reads what the store, or a part of a store in a cluster, says of itself, so that a loss of memory
-- is noticed. KEYS: the metadata, a hash: identity (random, made with the data), losses (how often
-- a part of the data was missing), run (of the server), node (which server it was), base (the
-- generation at the beginning of that run), forgotten, evicted (how many keys the server had
-- evicted, of any program's), and, under the name that is identity and losses together, the
-- generation, which each batch of writes increments. So a batch that counts itself under a name of
-- before begins again at 1. A new generation begins at the clock.
--
-- ARGV: an identity, should there be none; is an eviction a loss (1 or 0). If a connection begins,
-- also: the server's run; which of several servers this is; what the process knew: name, run,
-- generation; is it a loss that the data come from another server (1 or 0), unless that is one of
-- those, separated by commas, that are masters still. Replies the name, the generation, the time,
-- whether data are missing, forgotten answers, the policy of eviction ('': not allowed to ask), how
-- many keys were evicted since the last time, why the server takes no writes ('': it takes them).
local key, begins = KEYS[1], ARGV[3] ~= nil
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local fields = redis.call('HMGET', key, 'identity', 'losses', 'run', 'node', 'base', 'forgotten',
  'evicted')
local identity, losses, run, node, base = unpack(fields, 1, 5)

local function set(field, value)
  redis.call('HSET', key, field, value)
end

local function text(number)
  return string.format('%.0f', number)
end

local fresh = not identity
if fresh then
  identity, losses = ARGV[1], '0'
  set('identity', identity)
end
losses = losses or '0'
local name = identity .. '-' .. losses
local generation = tonumber(redis.call('HGET', key, name) or nil)
if not generation then
  generation = now
  set(name, text(generation))
end

local lost, another = false, false
if begins then
  local known_name, known_run, known_generation = ARGV[5], ARGV[6], tonumber(ARGV[7])
  another = run ~= ARGV[3] or node ~= ARGV[4]
  if fresh or run ~= ARGV[3] then
    base = text(generation)
    set('run', ARGV[3])
    set('base', base)
  end
  if known_name == name then
    lost = known_generation > (known_run == ARGV[3] and generation or tonumber(base or 0))
  elseif known_name ~= '' then
    redis.call('HDEL', key, known_name)
  end
  if node ~= ARGV[4] then
    local moved = not node or node == '' or
      string.find(',' .. ARGV[9] .. ',', ',' .. node .. ',', 1, true)
    lost = lost or ARGV[8] == '1' and not moved
    set('node', ARGV[4])
  end
elseif fresh then
  set('base', text(generation))
end

local policy, gone, refused = '', 0, ''
if ARGV[2] == '1' then
  local stats, memory = redis.pcall('INFO', 'stats'), redis.pcall('INFO', 'memory')
  if type(stats) == 'string' and type(memory) == 'string' then
    local evicted = tonumber(string.match(stats, 'evicted_keys:(%d+)'))
    policy = string.match(memory, 'maxmemory_policy:([%w-]+)') or ''
    local seen = tonumber(fields[7] or nil)
    -- In a new run, or on another server, the server counts from 0 again.
    if seen and not another and evicted > seen then gone = evicted - seen end
    if seen ~= evicted then set('evicted', text(evicted)) end
    -- This script may write then, and one that adds records may not.
    local function bytes(name)
      return tonumber(string.match(memory, '\n' .. name .. ':(%d+)') or 0)
    end
    local most = bytes('maxmemory')
    if most > 0 and bytes('used_memory') - bytes('mem_not_counted_for_evict') > most then
      refused = "OOM its memory is used up: used memory > 'maxmemory'"
    end
  end
end

if lost or gone > 0 then
  losses = text(redis.call('HINCRBY', key, 'losses', 1))
  redis.call('HDEL', key, name)
  name = identity .. '-' .. losses
  set(name, text(generation))
  set('base', text(generation))
end
return {name, generation, now, lost and 1 or 0, tonumber(fields[6] or 0), policy, gone, refused}
