-- The same 200-byte POST with the same key each time. Built once, so that wrk is not the limit.
wrk.method = "POST"
wrk.body = '{"amount":500,"currency":"eur","card":"tok_visa","description":"' ..
           string.rep("x", 200 - 65) .. '"}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer bench"
wrk.headers["Idempotency-Key"] = "\"bench-repeat\""
