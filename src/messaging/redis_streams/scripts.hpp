// The Lua scripts of consumers: each is one atomic step of the server. They need Redis 7.0.
//
// What a group's pending list says of an entry is its state:
//   owner NAME, idle below the hold     NAME holds it
//   any owner, idle for the hold        whoever comes first takes it over
//   owner onceguard:returned            given back; its idle time says when the hold is over
//   owner onceguard:until:TIME          given back for longer than the hold: not before TIME, in
//                                       milliseconds since 1970
// (An idle time can't say that, as the server takes none below 0.)
// So a delay outlives the consumer that asked for it. A program in the same group that takes
// entries over by their idle time alone would not observe the delays that are longer than the hold.
//
// The counter of deliveries keeps a delivery apart from later ones of the same entry, so that two
// processes with one consumer name, of which one was thought to be dead, are no danger.
#pragma once
#include <string_view>

namespace onceguard::messaging::redis_streams {

/// Of the scripts that settle a delivery.
inline constexpr int not_held = -1;
inline constexpr int entry_deleted = -2;

/// KEYS: the stream. ARGV: group, prefix of names, milliseconds. Fails where there is no group.
/// Forgets consumers with such a name that were not seen for so long and that nothing is pending
/// for: they were killed before they could do it themselves. One that lives all the same is made
/// again by its next command.
inline constexpr std::string_view join_script = R"lua(
local key, group, prefix, limit = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
redis.call('XPENDING', key, group, '-', '+', '1')
for _, row in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
  local is = {}
  for i = 1, #row, 2 do is[row[i]] = row[i + 1] end
  local name = is.name
  if is.pending == 0 and is.idle > limit and string.sub(name, 1, #prefix) == prefix
    and string.match(name, '%.%d+%.%x+$') then
    redis.call('XGROUP', 'DELCONSUMER', key, group, name)
  end
end
return 1
)lua";

/// Takes over what nobody holds any more. KEYS: the stream. ARGV: group, consumer, hold, most; then
/// '' and the ids in question, or where to begin and how many pending entries to examine. Replies
/// where to go on ('': that was the end), and of each entry its id, counter and fields. What was
/// deleted from the stream is dropped from the pending list.
inline constexpr std::string_view take_script = R"lua(
local key, group, consumer = KEYS[1], ARGV[1], ARGV[2]
local hold, most, start = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local taken = {}

local function take(id, owner, idle, count)
  local due = string.match(owner, '^onceguard:until:(%d+)$')
  if idle < hold or due and tonumber(due) > now then return end
  local entry = redis.call('XCLAIM', key, group, consumer, '0', id)[1]
  if entry then
    taken[#taken + 1] = {id, count + 1, entry[2]}
  else
    redis.call('XACK', key, group, id)
  end
  if due and #redis.call('XPENDING', key, group, '-', '+', '1', owner) == 0 then
    redis.call('XGROUP', 'DELCONSUMER', key, group, owner)
  end
end

if start == '' then
  for i = 6, #ARGV do
    local row = redis.call('XPENDING', key, group, ARGV[i], ARGV[i], '1')[1]
    if row then take(unpack(row)) end
  end
  return {'', taken}
end
local rows = redis.call('XPENDING', key, group, start, '+', ARGV[6])
for _, row in ipairs(rows) do
  if #taken == most then return {row[1], taken} end
  take(unpack(row))
end
local next = ''
if #rows == tonumber(ARGV[6]) then next = '(' .. rows[#rows][1] end
return {next, taken}
)lua";

/// KEYS: the stream. ARGV: group, consumer, id, counter; then 'acknowledge', 'extend', or
/// 'give_back', hold, delay. Replies not_held, entry_deleted, or for give_back the milliseconds
/// until the entry may be taken, and otherwise 1.
///
/// JUSTID: without it, XCLAIM would count one more delivery.
///
/// Times of return that an owner's name tells are rounded up to an eighth of the hold, so that
/// there are few such names.
inline constexpr std::string_view settle_script = R"lua(
local key, group, consumer, id = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local row = redis.call('XPENDING', key, group, id, id, '1')[1]
if not row or row[2] ~= consumer or row[4] ~= tonumber(ARGV[4]) then return -1 end
if ARGV[5] == 'acknowledge' then return redis.call('XACK', key, group, id) end
local owner, idle, wait = consumer, 0, 1
if ARGV[5] == 'give_back' then
  local hold, delay = tonumber(ARGV[6]), tonumber(ARGV[7])
  owner, idle, wait = 'onceguard:returned', hold - delay, delay
  if delay > hold then
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local step = math.max(1, math.floor(hold / 8))
    local due = math.ceil((now + delay) / step) * step
    owner, idle, wait = 'onceguard:until:' .. string.format('%.0f', due), 0, due - now
  end
end
local moved = redis.call('XCLAIM', key, group, owner, '0', id, 'IDLE', idle, 'JUSTID')
if #moved == 0 then return -2 end
return wait
)lua";

/// KEYS: the stream. ARGV: group, consumer, hold, and by turns the id and the counter of each
/// delivery that is held. Gives them back, and forgets the consumer, unless more is pending for it,
/// which would be lost.
inline constexpr std::string_view leave_script = R"lua(
local key, group, consumer, hold = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
for i = 4, #ARGV, 2 do
  local row = redis.call('XPENDING', key, group, ARGV[i], ARGV[i], '1')[1]
  if row and row[2] == consumer and row[4] == tonumber(ARGV[i + 1]) then
    redis.call('XCLAIM', key, group, 'onceguard:returned', '0', ARGV[i], 'IDLE', hold, 'JUSTID')
  end
end
if #redis.call('XPENDING', key, group, '-', '+', '1', consumer) == 0 then
  redis.call('XGROUP', 'DELCONSUMER', key, group, consumer)
end
return 1
)lua";

}  // namespace onceguard::messaging::redis_streams
