-- What the store is, so that a loss of its memory is noticed.
--
-- keys: the books, the counter of tokens, the generation. In a cluster each part of the store has
-- books of its own, and the generation is in them. The books are a hash: identity (random, made
-- with the data), losses (how often a part of the data was missing), run (of the server), base
-- (the generation at the beginning of that run), node (which server it was), forgotten, evicted
-- (how many keys the server had evicted, of any program's, when it was last asked).

local function told(keys)
  local of = redis.call('HMGET', keys[1], 'identity', 'losses', 'run', 'base', 'forgotten', 'node',
    'generation')
  local generation = of[7]
  if keys[3] then generation = redis.call('GET', keys[3]) end
  return of[1], tonumber(of[2] or 0), of[3], tonumber(of[4] or 0), tonumber(of[5] or 0),
    tonumber(generation or 0), of[6] or ''
end

local function name_of(identity, losses)
  return identity .. '-' .. string.format('%.0f', losses)
end

-- How many keys the server has evicted to make room, since its run began, and its policy. Nothing
-- where the user may not ask.
local function evictions()
  local stats, memory = redis.pcall('INFO', 'stats'), redis.pcall('INFO', 'memory')
  if type(stats) ~= 'string' or type(memory) ~= 'string' then return nil, '' end
  return tonumber(string.match(stats, 'evicted_keys:(%d+)')),
    string.match(memory, 'maxmemory_policy:([%w-]+)') or ''
end

-- How many went since the last look; in a new run (or on another server) counting begins anew.
-- That they were ours is not known, so it is to be counted as a loss.
local function newly_evicted(keys, evicted, begins_anew)
  local seen = tonumber(redis.call('HMGET', keys[1], 'evicted')[1] or nil)
  if begins_anew or not seen or evicted < seen then
    if seen ~= evicted then redis.call('HSET', keys[1], 'evicted', evicted) end
    return 0
  end
  if evicted > seen then redis.call('HSET', keys[1], 'evicted', evicted) end
  return evicted - seen
end

-- A process begins to talk to a server. args: an identity, should there be none; the run of the
-- server; what the process knew before: identity, run, generation; which of several servers this
-- is; does it count as a loss that it was another one before (1 or 0), unless that is one of
-- those, separated by commas, that are masters still; is an eviction a loss (1 or 0). Answers the
-- identity, the generation, the time, whether a part of the data is missing that the process had
-- seen, and the digest of this library. Without keys only the last is asked for.
local function greet(keys, args)
  if not keys[1] then return {'', 0, now_ms(), 0, LIBRARY} end
  local identity, losses, run, base, _, generation, last_node = told(keys)
  local known_identity, known_run, known_generation = args[3], args[4], tonumber(args[5])
  local node, others_lose, masters = args[6] or '', args[7] == '1', args[8] or ''
  local another = run ~= args[2] or node ~= last_node
  if not identity then
    identity, losses, run, base = args[1], 0, args[2], generation
    redis.call('HSET', keys[1], 'identity', identity, 'run', run, 'base', base)
    raise_tokens(keys[2])
  elseif run ~= args[2] then
    run, base = args[2], generation
    redis.call('HSET', keys[1], 'run', run, 'base', base)
    raise_tokens(keys[2])
  end
  if node ~= last_node then redis.call('HSET', keys[1], 'node', node) end
  local lost = false
  if known_identity == name_of(identity, losses) then
    lost = known_generation > (known_run == run and generation or base)
  end
  if others_lose and last_node ~= '' and node ~= last_node then
    local moved = string.find(',' .. masters .. ',', ',' .. last_node .. ',', 1, true)
    lost = lost or not moved
  end
  if args[9] == '1' then
    local evicted = evictions()
    if evicted and newly_evicted(keys, evicted, another) > 0 then lost = true end
  end
  if lost then
    losses = redis.call('HINCRBY', keys[1], 'losses', 1)
    redis.call('HSET', keys[1], 'base', generation)
    raise_tokens(keys[2])
  end
  return {name_of(identity, losses), generation, now_ms(), lost and 1 or 0, LIBRARY}
end

-- args: an identity, should there be none; is an eviction a loss (1 or 0). Answers the identity,
-- the generation, how many answers operators released, the time, the server's policy of eviction
-- (empty: not told) and how many keys it evicted since the last look.
local function vitals(keys, args)
  local identity, losses, _, _, forgotten, generation = told(keys)
  if not identity then
    identity = args[1]
    redis.call('HSET', keys[1], 'identity', identity, 'base', generation)
    raise_tokens(keys[2])
  end
  local policy, gone = '', 0
  if args[2] == '1' then
    local evicted
    evicted, policy = evictions()
    if evicted then gone = newly_evicted(keys, evicted, false) end
    if gone > 0 then
      losses = redis.call('HINCRBY', keys[1], 'losses', 1)
      redis.call('HSET', keys[1], 'base', generation)
      raise_tokens(keys[2])
    end
  end
  return {name_of(identity, losses), generation, forgotten, now_ms(), policy, gone}
end
