-- How the holder of a lease ends it. The names of what is answered: done, incident, stale (with
-- the state and the answer that stand there), needs_subject.

local function observed(r, now)
  local may_have_run = r.state == IN_PROGRESS or r.state == PROBING
  if may_have_run and lease_over(r, now) then return 7 end
  return r.state
end

local function said(name, generation, r, now)
  if not r then return {name, generation, 7, NOT_KEPT, '', NO_SUM} end
  return {name, generation, observed(r, now), r.kept, r.answer, r.answer_sum}
end

-- The lease is over, and nobody knows what became of the work.
local function become_unknown(r, how, now)
  if not r.earlier_unknown and how.why ~= NO_REASON then
    r.why, r.why_status = how.why, how.why_status
  end
  r.state = IN_PROGRESS
  set_deadline(r, 0, now)
  r.retry_at = now + how.probe_pause
  return r
end

local function complete(r, how, now)
  finish(r, COMPLETED, how.retention, now)
  if how.subject ~= '' then r.subject = how.subject end
  r.answer, r.answer_sum, r.kept = how.answer, how.answer_sum, how.kept
  r.why, r.why_status, r.failures, r.earlier_unknown = NO_REASON, 0, 0, false
  r.by_application = how.by_application
  return r
end

local function fail(r, how, now)
  finish(r, FAILED, how.retention, now)
  r.retry_at = now + math.min(how.backoff * 2 ^ math.min(r.failures, 30), how.backoff_max)
  r.failures = r.failures + 1
  if not r.earlier_unknown then r.why, r.why_status = how.why, how.why_status end
  return r
end

-- What the settle makes of its own record.
local function apply(r, how, now)
  if how.kind == 'complete' then return complete(r, how, now) end
  if how.kind == 'fail' then return fail(r, how, now) end
  -- What this lease did not do, an earlier one may have done; from `started`, nothing began.
  local nothing = not r.earlier_unknown and (how.kind == 'release' or r.state == STARTED)
  if nothing then return released(r, now) end
  return become_unknown(r, how, now)
end

-- The record as its lease had left it, for a settle that finds that it is gone.
local function remade(keys, how, now)
  local r = blank(how.subject)
  r.state, r.token, r.nonce, r.attempt = IN_PROGRESS, how.token, how.nonce, 1
  r.claimed_at, r.incident = now, true
  r.first = next_token(keys[2], how.token)
  return r
end

local function settle_missing(keys, how, now)
  if how.kind == 'release' then
    -- Remember the claim id, so that the claim is refused should it arrive after its release.
    if how.subject == '' then return said('done', 0) end
    return said('done', write(keys, released(remade(keys, how, now), now), now))
  end
  if how.subject == '' then return said('needs_subject', 0) end
  return said('incident', write(keys, apply(remade(keys, how, now), how, now), now))
end

-- The holder's settle of what its application has completed in its own transaction. It is told so:
-- the retention is the application's, not its own.
local function complete_again(keys, r, how, now)
  if not r.by_application or how.by_application then return said('done', 0) end
  local out = {'done', 0, COMPLETED, NOT_KEPT, '', NO_SUM}
  if r.kept == NOT_KEPT then
    if how.kept == NOT_KEPT then return out end
    r.answer, r.answer_sum, r.kept = how.answer, how.answer_sum, how.kept
    out[2] = write(keys, r, now)
  elseif r.answer ~= '' and r.answer ~= how.answer then
    return said('done', 0, r, now)
  end
  return out
end

local function settled_alike(r, kind)
  return kind == 'complete' and r.state == COMPLETED and not r.by_operator or
    kind == 'fail' and r.state == FAILED or kind == 'release' and r.state == RELEASED
end

local function settle_own(keys, r, how, now)
  if settled_alike(r, how.kind) then return complete_again(keys, r, how, now) end
  if r.state == RELEASED and how.kind == 'complete' and not how.by_application then
    r = apply(r, how, now)
    r.incident = true
    r.by_operator = false
    return said('incident', write(keys, r, now))
  end
  if not unsettled(r) then return said('stale', 0, r, now) end
  return said('done', write(keys, apply(r, how, now), now))
end

local function settle_any(keys, args)
  local how = {token = tonumber(args[1]), nonce = args[2], kind = args[3],
    retention = tonumber(args[4]), backoff = tonumber(args[5]), backoff_max = tonumber(args[6]),
    why = tonumber(args[7]), why_status = tonumber(args[8]), probe_pause = tonumber(args[9]),
    by_application = args[10] == '1', subject = args[11], kept = tonumber(args[12]),
    answer = args[13], answer_sum = args[14]}
  local now = now_ms()
  local r, wrong = look_up(keys[1], now)
  if wrong then return wrong end
  local by_claim_id = how.token == 0 and how.kind == 'release'
  local own = r and r.nonce == how.nonce and (by_claim_id or r.token == how.token)
  if own then return settle_own(keys, r, how, now) end
  if how.by_application then return said('stale', 0, r, now) end
  if not r then return settle_missing(keys, how, now) end
  if by_claim_id then return said('done', 0) end  -- that claim holds nothing here
  return said('stale', 0, r, now)
end

-- args: token (0 with 'release': the claim id alone names the lease), nonce, 'complete' or 'fail'
-- or 'release' or 'abandon', retention, backoff, backoff_max, why, why_status, probe_pause,
-- by_application, subject (may be empty), kept, answer (may be empty), its checksum, and the
-- channel on which it is told (may be missing).
local function settle(keys, args)
  local out = settle_any(keys, args)
  if out[1] == 'done' or out[1] == 'incident' then announce(keys[1], args[15]) end
  return out
end

-- Renews a lease, or moves it from `started` or `probing` to `in_progress`. args: token, nonce,
-- lease, dispatch (1 or 0). Answers held or stale.
local function extend(keys, args)
  local now = now_ms()
  local r, wrong = look_up(keys[1], now)
  if wrong then return wrong end
  -- Only what was abandoned has a time to ask again: a renewal that was on its way behind it must
  -- not revive the lease.
  local own = r and r.nonce == args[2] and r.token == tonumber(args[1]) and unsettled(r) and
    r.retry_at == 0
  if not own then return {'stale', 0} end
  if args[4] == '1' then
    -- The application said that nothing had happened, and refuses the earlier tokens now.
    if r.state == PROBING then
      r.earlier_unknown, r.why, r.why_status = false, NO_REASON, 0
    end
    r.state = IN_PROGRESS
  end
  set_deadline(r, tonumber(args[3]), now)
  return {'held', write(keys, r, now)}
end
