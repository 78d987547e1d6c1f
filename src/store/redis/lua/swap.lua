-- Replaces a record if it still begins as its writer has read it. KEYS: the record; also the
-- metadata, if they are to count a forgotten answer. ARGV: the beginning, up to the claim id ('':
-- there must be no record; 'WRONGTYPE': a value that is no string); the payload; its time to live
-- in milliseconds, or '' for none. Replies the stamp, or {stamp, what there is}.
local call, key, args = redis.call, KEYS[1], ARGV
local begins
if args[1] == 'WRONGTYPE' then
  begins = string.sub(redis.pcall('GETRANGE', key, '0', '36').err or '', 1, 9)
else
  begins = call('GETRANGE', key, '0', '36')
end
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if begins ~= args[1] then return {struct.pack('>I8', now), redis.pcall('GET', key)} end
-- No two writes of a record have one stamp, even if the clock stands still.
if #begins == 37 then
  local last = struct.unpack('>I8', begins)
  if last >= now and last - now < 1000000 then now = last + 1 end
end
local stamp, life = struct.pack('>I8', now), args[3]
if life == '' then
  call('SET', key, stamp .. args[2] .. stamp)
else
  call('SET', key, stamp .. args[2] .. stamp, 'PX', life)
end
if KEYS[2] then call('HINCRBY', KEYS[2], 'forgotten', 1) end
return stamp
