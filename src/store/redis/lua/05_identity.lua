-- What the store is, so that a loss of its memory is noticed.
--
-- keys: the books, the counter of tokens, the generation. In a cluster each part of the store has
-- books of its own, and the generation is in them. The books are a hash: identity (random, made
-- with the data), losses (how often a part of the data was missing), run (of the server), base
-- (the generation at the beginning of that run), node (which server it was), forgotten.

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

-- A process begins to talk to a server. args: an identity, should there be none; the run of the
-- server; what the process knew before: identity, run, generation; which of several servers this
-- is; does it count as a loss that it was another one before (1 or 0), unless that is one of
-- those, separated by commas, that are masters still. Answers the identity, the generation, the
-- time, whether a part of the data is missing that the process had seen, and the digest of this
-- library. Without keys only the last is asked for.
local function greet(keys, args)
  if not keys[1] then return {'', 0, now_ms(), 0, LIBRARY} end
  local identity, losses, run, base, _, generation, last_node = told(keys)
  local known_identity, known_run, known_generation = args[3], args[4], tonumber(args[5])
  local node, others_lose, masters = args[6] or '', args[7] == '1', args[8] or ''
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
  if lost then
    losses = redis.call('HINCRBY', keys[1], 'losses', 1)
    redis.call('HSET', keys[1], 'base', generation)
    raise_tokens(keys[2])
  end
  return {name_of(identity, losses), generation, now_ms(), lost and 1 or 0, LIBRARY}
end

-- args: an identity, should there be none. Answers the identity, the generation, how many
-- answers operators released, the time.
local function vitals(keys, args)
  local identity, losses, _, _, forgotten, generation = told(keys)
  if not identity then
    identity = args[1]
    redis.call('HSET', keys[1], 'identity', identity, 'base', generation)
    raise_tokens(keys[2])
  end
  return {name_of(identity, losses), generation, forgotten, now_ms()}
end
