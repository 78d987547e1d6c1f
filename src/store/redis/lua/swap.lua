-- Replaces a record if it still begins as its writer has read it. KEYS: the record; also the metadata,
-- if they are to count a forgotten answer. ARGV: the beginning, up to the claim id ('': there must be
-- no record; 'WRONGTYPE': a value that is no string); the payload; its time to live in milliseconds,
-- or '' for none. Replies {stamp}, or {stamp, what there is}.
local key = KEYS[1]
local begins = redis.pcall('GETRANGE', key, '0', '36')
if type(begins) == 'table' then begins = string.sub(begins.err, 1, 9) end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if begins ~= ARGV[1] then return {struct.pack('>I8', now), redis.pcall('GET', key)} end
-- No two writes of a record have one stamp, even if the clock stands still.
if #begins == 37 then
  local last = struct.unpack('>I8', begins)
  if last >= now and last - now < 1000000 then now = last + 1 end
end
local stamp = struct.pack('>I8', now)
if ARGV[3] == '' then
  redis.call('SET', key, stamp .. ARGV[2] .. stamp)
else
  redis.call('SET', key, stamp .. ARGV[2] .. stamp, 'PX', ARGV[3])
end
if KEYS[2] then redis.call('HINCRBY', KEYS[2], 'forgotten', 1) end
return {stamp}
