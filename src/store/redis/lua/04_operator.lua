-- What operators ask and do.

-- How an operator ends what nobody else does. keys: as ever, and then the books. args:
-- completed (1 or 0), force, retention, kept, answer, its checksum, the channel on which it is
-- told, a subject without a fingerprint, and '1' if the caller has seen that the answer is damaged:
-- with force, what can't be read gives way to a record of that subject. Answers done (and whether
-- an answer was forgotten), not_found, running (and for how long), already_completed (with an
-- answer, or none was given).
local function resolve(keys, args)
  local completed, force = args[1] == '1', args[2] == '1'
  local now = now_ms()
  local alone = #keys == 2  -- in a cluster
  local r, wrong = look_up(keys[1], now)
  if wrong and not force then return wrong end
  local remade = wrong or force and args[9] == '1' and r and r.state == COMPLETED
  if remade then
    r = blank(args[8])
    r.nonce, r.claimed_at = string.rep('\0', 16), now
    r.token = next_token(not alone and keys[2] or nil, 0)
    r.first = r.token
  end
  if not r or r.state == RELEASED then return {'not_found', 0} end
  -- An answer that is missing can be given later; one that is there stays.
  local adds = not remade and r.state == COMPLETED and completed
  if adds and (r.kept <= STATUS_ONLY or tonumber(args[4]) == NOT_KEPT) then
    return {'already_completed', 0}
  end
  if unsettled(r) and not force then
    -- After an answer the work is over; else it may go on until the upstream's timeout.
    local answered = r.why == UPSTREAM_STATUS and not r.earlier_unknown
    local tail = (completed or answered) and 0 or run_timeout_of(r.subject)
    local left = r.deadline + tail - now
    if left > 0 then return {'running', 0, left} end
  end
  local forgets = remade or r.state == COMPLETED
  if completed then
    if not adds then finish(r, COMPLETED, tonumber(args[3]), now) end
    r.kept, r.answer, r.answer_sum = tonumber(args[4]), args[5], args[6]
  else
    r = released(r, now)
  end
  r.by_operator = true
  if forgets then redis.call('HINCRBY', keys[alone and 2 or 4], 'forgotten', 1) end
  local generation = write(alone and {keys[1]} or keys, r, now)
  announce(keys[1], args[7])
  return {'done', generation, forgets and 1 or 0}
end

-- Takes in a record of another store. args: token, nonce, state, flags, why, status, kept, attempt,
-- failures, how long its lease has been over, how long it may not run, how long ago it was claimed
-- and settled, retention left and unknown retention (0: for ever), subject, answer, its checksum.
-- Answers done, there (this very record is), conflict (another one is), or ahead: in a cluster
-- tokens come from the clock, and a record's later ones would not be above this.
local function adopt(keys, args)
  local now = now_ms()
  local stored, wrong = look_up(keys[1], now)
  if wrong then return wrong end
  local token, state, flags = tonumber(args[1]), tonumber(args[3]), tonumber(args[4])
  if stored then
    local same = stored.nonce == args[2] and stored.token == token and stored.state == state
    return {same and 'there' or 'conflict', 0}
  end
  local left = tonumber(args[14])
  -- It may be gone that soon: when its retention is over, or that of a release.
  local gone = left == 0 and RELEASED_RETENTION or math.min(left, RELEASED_RETENTION)
  if not keys[2] and token > now_us() + gone * 1000 then return {'ahead', 0} end
  local r = blank(args[16])
  r.token, r.nonce, r.state = token, args[2], state
  r.why, r.why_status, r.kept = tonumber(args[5]), tonumber(args[6]), tonumber(args[7])
  r.attempt, r.failures = tonumber(args[8]), tonumber(args[9])
  r.deadline, r.retry_at = now - tonumber(args[10]), now + tonumber(args[11])
  r.claimed_at = now - tonumber(args[12])
  r.settled_at = unsettled(r) and 0 or now - tonumber(args[13])
  r.expires_at, r.unknown_retention = left == 0 and 0 or now + left, tonumber(args[15])
  r.answer, r.answer_sum = args[17], args[18]
  r.by_operator, r.incident = flag(flags, BY_OPERATOR), flag(flags, INCIDENT)
  r.maybe_repeated = flag(flags, MAYBE_REPEATED)
  r.earlier_unknown = flag(flags, EARLIER_UNKNOWN)
  r.by_application = flag(flags, BY_APPLICATION)
  raise_tokens(keys[2])
  r.first = next_token(keys[2], token)
  return {'done', write(keys, r, now)}
end

-- The time, and the record as it is stored, with its points in time, where there is one.
local function find(keys)
  local now = now_ms()
  local bytes = redis.pcall('GET', keys[1])
  if not bytes then return {now} end
  if type(bytes) ~= 'string' then return unreadable('it is no string') end
  local r, wrong = decode(keys[1], bytes, now, true)
  if wrong then return wrong end
  if is_expired(r, now) then return {now} end
  return {now, r.undated and encode(r) or bytes}
end

-- Of a record that may be large, what stands before its answer; empty: it is gone. What is no
-- string is no record.
local function head_at(name)
  local bytes = redis.pcall('GETRANGE', name, 0, 1023)
  if type(bytes) ~= 'string' then return 'no record' end
  local size = head_size(bytes)
  if size and size + SUM_SIZE > #bytes then
    bytes = redis.call('GETRANGE', name, 0, size + SUM_SIZE - 1)
  end
  return bytes
end

-- The time, and what stands before the answer of the record where there is one. In a cluster, where
-- a script can't go through the names itself.
local function head(keys)
  local now = now_ms()
  local bytes = head_at(keys[1])
  if bytes == '' then return {now} end
  local r, wrong = decode(keys[1], bytes, now, false)
  if wrong then return wrong end
  if is_expired(r, now) then return {now} end
  return {now, r.undated and encode(r) or bytes}
end

-- Some of the records. args: cursor, pattern of their names, about how many, state (0: any),
-- what of them: 'heads' or 'states'. Answers the next cursor, the time, how many can't be read,
-- the heads that were found with their names, or a number for each state, and the names of those
-- that can't be read, each with why.
local function scan(_, args)
  local wanted, now, broken = tonumber(args[4]), now_ms(), {}
  local found = redis.call('SCAN', args[1], 'MATCH', args[2], 'COUNT', args[3])
  local out, states = {}, {0, 0, 0, 0, 0, 0, 0}
  for _, name in ipairs(found[2]) do
    local bytes = head_at(name)
    local r, wrong = decode(name, bytes, now, false)
    if wrong then
      if bytes ~= '' then
        broken[#broken + 1] = name
        broken[#broken + 1] = wrong.err
      end
    elseif not is_expired(r, now) then
      local state = observed(r, now)
      states[state] = states[state] + 1
      if wanted == 0 or wanted == state then
        out[#out + 1] = name
        out[#out + 1] = r.undated and encode(r) or bytes
      end
    end
  end
  return {found[1], now, #broken / 2, args[5] == 'heads' and out or states, broken}
end
