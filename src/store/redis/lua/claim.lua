-- Sets a record where there is none. KEYS: the record. ARGV: the payload; its time to live in
-- milliseconds, or '' for none. Replies the stamp, or {stamp, what there is}.
local call, key, life = redis.call, KEYS[1], ARGV[2]
local time = call('TIME')
local stamp = struct.pack('>I8', time[1] * 1000000 + time[2])
local done
if life == '' then
  done = call('SET', key, stamp .. ARGV[1] .. stamp, 'NX')
else
  done = call('SET', key, stamp .. ARGV[1] .. stamp, 'NX', 'PX', life)
end
if done then return stamp end
return {stamp, redis.pcall('GET', key)}
