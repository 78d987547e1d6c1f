-- Reads a record. KEYS: the record. Replies {stamp, what there is}.
local time = redis.call('TIME')
return {struct.pack('>I8', time[1] * 1000000 + time[2]), redis.pcall('GET', KEYS[1])}
