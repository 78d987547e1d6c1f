-- What a claim meets. Every answer begins with its name and the generation that a write got, or 0.

local function run(r, generation)
  return {'run', generation, r.token, r.attempt, r.state}
end

local function grant(keys, asked, stored, into, now, wanted)
  local r = blank(asked.subject)
  r.failures, r.first, r.earlier_unknown = stored.failures, stored.first, stored.earlier_unknown
  if stored.earlier_unknown then r.why, r.why_status = stored.why, stored.why_status end
  r.state, r.nonce, r.attempt = into, asked.nonce, stored.attempt + 1
  r.claimed_at, r.unknown_retention = now, asked.unknown_retention
  r.maybe_repeated = stored.maybe_repeated or asked.maybe_repeated
  for name, value in pairs(wanted or {}) do r[name] = value end
  set_deadline(r, asked.lease, now)
  r.token = next_token(keys[2], stored.token)
  return run(r, write(keys, r, now))
end

-- What most claims get: a lease where nothing stood. The same bytes as by `grant`, made at once, as
-- the server does nothing else meanwhile.
local function grant_first(keys, asked, into, now)
  local token = next_token(keys[2], 0)
  local deadline = now + asked.lease
  local kept = asked.unknown_retention
  local expires_at = kept == 0 and 0 or deadline + kept
  local head = struct.pack(HEAD, FORMAT, FIXED_SIZE + #asked.subject, into,
    asked.maybe_repeated and MAYBE_REPEATED or 0, NO_REASON, NOT_KEPT, 0, 1, 0, token,
    asked.nonce, token, deadline, 0, now, 0, expires_at, kept, 0, NO_SUM, asked.subject)
  return {'run', put(keys, head .. sum_of(head), expires_at, now), token, 1, into}
end

-- A lease on what is unknown: it stays the unknown that it was, until this lease completes or the
-- application says that nothing had happened.
local function grant_unknown(keys, asked, stored, into, now, claimed_at)
  return grant(keys, asked, stored, into, now, {
    earlier_unknown = true,
    why = stored.why == NO_REASON and HOLDER_GONE or stored.why,
    why_status = stored.why_status,
    claimed_at = claimed_at,
  })
end

local function outcome_unknown(r, now, ask_again_in)
  return {'unknown', 0, r.why == NO_REASON and HOLDER_GONE or r.why, r.why_status,
    math.max(now - r.claimed_at, 0), math.max(ask_again_in, 0)}
end

local function meet_unknown(keys, asked, r, now)
  if asked.unknown == 'hold' then return outcome_unknown(r, now, 0) end
  if asked.unknown == 'rerun' then return grant_unknown(keys, asked, r, IN_PROGRESS, now, now) end
  local left = r.retry_at - now
  local too_young = r.claimed_at + asked.probe_after - now
  if asked.probe_after > 0 then left = math.max(left, too_young) end
  if left > 0 then return outcome_unknown(r, now, left) end
  -- The time of the claim is that of the attempt whose outcome is unknown.
  return grant_unknown(keys, asked, r, PROBING, now, r.claimed_at)
end

local function replay(r, now)
  local left = r.expires_at == 0 and 0 or math.max(r.expires_at - now, 0)
  return {'replay', 0, r.kept, left, r.answer, r.answer_sum}
end

-- args: nonce, lease, 'started' or 'in_progress', 'hold' or 'probe' or 'rerun', probe_after,
-- unknown_retention, maybe_repeated, subject; durations in milliseconds. And, may be missing: '1'
-- if nobody heard an answer to this claim, so that a lease that it got may be given once more.
local function claim(keys, args)
  local asked = {nonce = args[1], lease = tonumber(args[2]), unknown = args[4],
    probe_after = tonumber(args[5]), unknown_retention = tonumber(args[6]),
    maybe_repeated = args[7] == '1', subject = args[8]}
  local into = args[3] == 'started' and STARTED or IN_PROGRESS
  local now = now_ms()
  local r, wrong = look_up(keys[1], now)
  if wrong then return wrong end
  local same_claim = r and r.nonce == asked.nonce
  if same_claim and r.state == RELEASED then return {'refused', 0} end
  if not r then return grant_first(keys, asked, into, now) end
  if r.state == RELEASED then return grant(keys, asked, r, into, now) end
  if same_claim and unsettled(r) then
    if args[9] ~= '1' or not r.undated then return run(r, 0) end
    -- The client's token may be from before a loss that has been noticed since.
    r.token = next_token(keys[2], r.token)
    return run(r, write(keys, r, now))
  end
  -- The fingerprint comes before everything that says what became of the key. None is there where
  -- an operator has completed what could not be read.
  local stored_print, stored_method = fingerprint_of(r.subject)
  local print, method = fingerprint_of(asked.subject)
  if stored_method ~= '' then
    if stored_method ~= method then return {'remake_fingerprint', 0, stored_method} end
    if stored_print ~= print then return {'mismatch', 0} end
  end
  if r.state == COMPLETED then return replay(r, now) end
  if r.state == FAILED then
    if now < r.retry_at then return {'backoff', 0, r.retry_at - now} end
    return grant(keys, asked, r, into, now)
  end
  if not lease_over(r, now) then return {'busy', 0, r.deadline - now} end
  if r.state == STARTED then return grant(keys, asked, r, into, now) end
  return meet_unknown(keys, asked, r, now)
end

-- Tokens for a client that gives them out by itself. args: how many. Answers the first, the time.
local function reserve(keys, args)
  local first = next_token(keys[2], 0)
  redis.call('SET', keys[2], first + tonumber(args[1]) - 1)
  return {first, now_ms()}
end
