-- A record is one string:
--   head: format (1 byte), size of the head, the fixed fields, the subject
--   checksum of the head: the first 16 digits of its SHA-1
--   the answer, whose size and checksum are in the head; only clients read and check it
-- All numbers are little-endian. docs/redis.md has the bytes.
local FORMAT = 1
-- A first claim that a client has set with one command, without a script. It has no points in time:
-- in their place stands how long the lease is, and its time to live counts what has passed.
local UNDATED = 2
local FOR_EVER = 3153600000000  -- of such a time to live: a hundred years
-- A record stays for that long after it was written last, expired or not. Tokens that a client took
-- are good for no longer, so those of a key only grow.
local STAYS = 60000
local STARTED, IN_PROGRESS, PROBING, COMPLETED, FAILED, RELEASED = 1, 2, 3, 4, 5, 6
local BY_OPERATOR, INCIDENT, MAYBE_REPEATED, EARLIER_UNKNOWN, BY_APPLICATION = 1, 2, 4, 8, 16
local STATUS_ONLY, NOT_KEPT = 1, 4
local NO_REASON, HOLDER_GONE, UPSTREAM_STATUS = 0, 1, 2
local SUM_SIZE = 16
local RELEASED_RETENTION = 3600000
local FIELDS = '<BI4BBBBI2I4I4I8c16I8i8i8i8i8i8i8I4c8'
local HEAD = FIELDS .. 'c0'
local FIXED_SIZE = 111
local NO_SUM = '\0\0\0\0\0\0\0\0'

local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function now_us()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function flag(flags, bit)
  return math.floor(flags / bit) % 2 == 1
end

local function sum_of(head)
  return string.sub(redis.sha1hex(head), 1, SUM_SIZE)
end

local function unreadable(why)
  return {err = 'UNREADABLE ' .. why}
end

-- The size of the head, or what is wrong with it.
local function head_size(bytes)
  if #bytes < FIXED_SIZE + SUM_SIZE then return nil, unreadable('it is cut short') end
  local format, size = struct.unpack('<BI4', bytes)
  if format > UNDATED then
    return nil, unreadable('format ' .. format .. ' is newer than ' .. UNDATED ..
                           ', the newest that this version reads')
  end
  if format == 0 or size < FIXED_SIZE then return nil, unreadable('it is damaged') end
  return size
end

-- Gives a record that has none its points in time.
local function date(r, key, now)
  local left = redis.call('PTTL', key)
  if left < 0 then return nil, unreadable('it has lost its time to live') end
  local lease, keeps = r.deadline, r.unknown_retention
  local whole = lease + (keeps == 0 and FOR_EVER or keeps)
  r.claimed_at = now - math.max(whole - left, 0)
  r.deadline = r.claimed_at + lease
  r.expires_at = keeps == 0 and 0 or r.deadline + keeps
  r.undated = true
  return r
end

-- What stands at `key`. `answer`: does the answer follow, or only the head with its checksum?
local function decode(key, bytes, now, answer)
  local size, wrong = head_size(bytes)
  if wrong then return nil, wrong end
  local head = string.sub(bytes, 1, size)
  if sum_of(head) ~= string.sub(bytes, size + 1, size + SUM_SIZE) then
    return nil, unreadable('its checksum is wrong: it is damaged or cut short')
  end
  local format, _, state, flags, why, kept, why_status, attempt, failures, token, nonce, first,
    deadline, retry_at, claimed_at, settled_at, expires_at, unknown_retention, answer_size,
    answer_sum = struct.unpack(FIELDS, head)
  local text = answer and string.sub(bytes, size + SUM_SIZE + 1) or ''
  if answer and #text ~= answer_size then return nil, unreadable('its answer is cut short') end
  -- All at once: a table that grows costs more than the rest of this.
  local r = {subject = string.sub(head, FIXED_SIZE + 1), state = state, token = token,
    nonce = nonce, attempt = attempt, first = first, deadline = deadline, retry_at = retry_at,
    claimed_at = claimed_at, settled_at = settled_at, expires_at = expires_at,
    unknown_retention = unknown_retention, why = why, why_status = why_status, kept = kept,
    answer = text, answer_sum = answer_sum, failures = failures,
    by_operator = flag(flags, BY_OPERATOR), incident = flag(flags, INCIDENT),
    maybe_repeated = flag(flags, MAYBE_REPEATED), earlier_unknown = flag(flags, EARLIER_UNKNOWN),
    by_application = flag(flags, BY_APPLICATION)}
  if format == UNDATED then return date(r, key, now) end
  return r
end

local function encode(r)
  local flags = (r.by_operator and BY_OPERATOR or 0) + (r.incident and INCIDENT or 0) +
    (r.maybe_repeated and MAYBE_REPEATED or 0) + (r.earlier_unknown and EARLIER_UNKNOWN or 0) +
    (r.by_application and BY_APPLICATION or 0)
  local head = struct.pack(HEAD, FORMAT, FIXED_SIZE + #r.subject, r.state, flags, r.why,
    r.kept, r.why_status, r.attempt, r.failures, r.token, r.nonce, r.first, r.deadline, r.retry_at,
    r.claimed_at, r.settled_at, r.expires_at, r.unknown_retention, #r.answer, r.answer_sum,
    r.subject)
  return head .. sum_of(head) .. r.answer
end

-- A record as a new one begins.
local function blank(subject)
  return {subject = subject, state = STARTED, token = 0, nonce = '', attempt = 0, first = 0,
    deadline = 0, retry_at = 0, claimed_at = 0, settled_at = 0, expires_at = 0,
    unknown_retention = 0, why = NO_REASON, why_status = 0, kept = NOT_KEPT, answer = '',
    answer_sum = NO_SUM, failures = 0, by_operator = false, incident = false,
    maybe_repeated = false, earlier_unknown = false, by_application = false}
end

-- The server removes what has expired, later than that.
local function is_expired(r, now)
  return r.expires_at ~= 0 and now >= r.expires_at
end

local function look_up(key, now)
  local bytes = redis.pcall('GET', key)
  if not bytes then return nil end
  if type(bytes) ~= 'string' then return nil, unreadable('it is no string') end
  local r, wrong = decode(key, bytes, now, true)
  if wrong then return nil, wrong end
  if is_expired(r, now) then return nil end
  return r
end

-- keys: the record, the counter of tokens, the generation; in a cluster the record alone, as keys
-- of a slot that moves are not all in one place: clients count their writes there, in batches. The
-- record is written last, so that whatever fails leaves it as it was. Gives the generation, or 0.
local function put(keys, bytes, expires_at, now)
  local generation = keys[3] and redis.call('INCR', keys[3]) or 0
  if expires_at == 0 then
    redis.call('SET', keys[1], bytes)
  else
    redis.call('SET', keys[1], bytes, 'PXAT', math.max(expires_at, now + STAYS))
  end
  return generation
end

local function write(keys, r, now)
  return put(keys, encode(r), r.expires_at, now)
end

-- Greater than any before; a counter that is missing begins at the clock in microseconds. Without
-- one it is the clock, or what follows `above`: a record is gone only after its retention, so the
-- clock has passed its token by then.
local function next_token(key, above)
  if not key then return math.max(above + 1, now_us()) end
  local token = redis.call('INCR', key)
  local least = above + 1
  if token == 1 then least = math.max(least, now_us()) end
  if token < least then
    token = least
    redis.call('SET', key, token)
  end
  return token
end

-- Tokens go on from the clock: those that were given and lost are not given again.
local function raise_tokens(key)
  local least = now_us()
  if not key or tonumber(redis.call('GET', key) or 0) >= least then return end
  redis.call('SET', key, least)
end

-- Those who listen hear that a record ended: the first 8 bytes of its id, on the channel that the
-- caller names (none or empty: nobody is told). Where that is not permitted, they have to ask.
local function announce(key, channel)
  if channel and channel ~= '' then
    redis.pcall('PUBLISH', channel, string.sub(key, -32, -25))
  end
end

local function lease_over(r, now)
  return now >= r.deadline
end

local function unsettled(r)
  return r.state == STARTED or r.state == IN_PROGRESS or r.state == PROBING
end

local function set_deadline(r, lease, now)
  r.deadline = now + lease
  r.expires_at = r.unknown_retention == 0 and 0 or now + lease + r.unknown_retention
end

-- The subject begins with the fingerprint: 32 bytes, and the size of how it was made and that.
local function fingerprint_of(subject)
  local size = struct.unpack('<I2', subject, 33)
  return string.sub(subject, 1, 32), string.sub(subject, 35, 34 + size)
end

local function without_fingerprint(subject)
  local size = struct.unpack('<I2', subject, 33)
  return string.rep('\0', 34) .. string.sub(subject, 35 + size)
end

-- How long the work may go on after its lease: it follows the fingerprint.
local function run_timeout_of(subject)
  local size = struct.unpack('<I2', subject, 33)
  return (struct.unpack('<i8', subject, 35 + size))
end

local function released(r, now)
  local out = blank(without_fingerprint(r.subject))
  out.state = RELEASED
  out.token, out.nonce, out.attempt, out.first = r.token, r.nonce, r.attempt, r.first
  out.claimed_at, out.settled_at = r.claimed_at, now
  out.expires_at = now + RELEASED_RETENTION
  out.maybe_repeated = r.maybe_repeated
  return out
end

local function finish(r, state, retention, now)
  r.state, r.deadline, r.settled_at, r.expires_at = state, now, now, now + retention
end
