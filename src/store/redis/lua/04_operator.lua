-- What operators ask and do.

-- How an operator ends what nobody else does. keys: as ever, and the hash of the store. args:
-- completed (1 or 0), force, retention, kept, answer, its checksum. Answers done (and whether
-- an answer was forgotten), not_found, running (and for how long), already_completed.
local function resolve(keys, args)
  local completed, force = args[1] == '1', args[2] == '1'
  local now = now_ms()
  local r, wrong = look_up(keys[1], now)
  if wrong then return wrong end
  if not r or r.state == RELEASED then return {'not_found', 0} end
  if r.state == COMPLETED and completed then return {'already_completed', 0} end
  if unsettled(r) and not force then
    -- After an answer the work is over; else it may go on until the upstream's timeout.
    local answered = r.why == UPSTREAM_STATUS and not r.earlier_unknown
    local tail = (completed or answered) and 0 or run_timeout_of(r.subject)
    local left = r.deadline + tail - now
    if left > 0 then return {'running', 0, left} end
  end
  local forgets = not completed and r.state == COMPLETED
  if completed then
    finish(r, COMPLETED, tonumber(args[3]), now)
    r.kept, r.answer, r.answer_sum = tonumber(args[4]), args[5], args[6]
  else
    r = released(r, now)
  end
  r.by_operator = true
  if forgets then redis.call('HINCRBY', keys[4], 'forgotten', 1) end
  return {'done', write(keys, r), forgets and 1 or 0}
end

-- The time, and the record as it is stored where there is one.
local function find(keys)
  local now = now_ms()
  local bytes = redis.call('GET', keys[1])
  if not bytes then return {now} end
  local r, wrong = decode(bytes, true)
  if wrong then return wrong end
  if is_expired(r, now) then return {now} end
  return {now, bytes}
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

-- Some of the records. args: cursor, pattern of their names, about how many, state (0: any),
-- what of them: 'heads' or 'states'. Answers the next cursor, the time, how many can't be read,
-- and the heads that were found with their names, or a number for each state.
local function scan(_, args)
  local wanted, now, broken = tonumber(args[4]), now_ms(), 0
  local found = redis.call('SCAN', args[1], 'MATCH', args[2], 'COUNT', args[3])
  local out, states = {}, {0, 0, 0, 0, 0, 0, 0}
  for _, name in ipairs(found[2]) do
    local bytes = head_at(name)
    local r, wrong = decode(bytes, false)
    if wrong then
      if bytes ~= '' then broken = broken + 1 end
    elseif not is_expired(r, now) then
      local state = observed(r, now)
      states[state] = states[state] + 1
      if wanted == 0 or wanted == state then
        out[#out + 1] = name
        out[#out + 1] = bytes
      end
    end
  end
  return {found[1], now, broken, args[5] == 'heads' and out or states}
end
