-- Sets a record where there is none. KEYS: the record. ARGV: the payload; its time to live in
-- milliseconds, or '' for none. Replies {stamp}, or {stamp, what there is}.
local key, time = KEYS[1], redis.call('TIME')
local stamp = struct.pack('>I8', time[1] * 1000000 + time[2])
local value, done = stamp .. ARGV[1] .. stamp, nil
if ARGV[2] == '' then
  done = redis.call('SET', key, value, 'NX')
else
  done = redis.call('SET', key, value, 'NX', 'PX', ARGV[2])
end
if done then return {stamp} end
return {stamp, redis.pcall('GET', key)}
