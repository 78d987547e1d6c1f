-- Counts a batch of writes, also when the server is full. KEYS: the metadata. ARGV: the name.
return redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
