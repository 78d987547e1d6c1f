-- A 200-byte POST without a key: passed through. Built once, so that wrk is not the limit.
wrk.method = "POST"
wrk.body = '{"amount":500,"currency":"eur","card":"tok_visa","description":"' ..
           string.rep("x", 200 - 65) .. '"}'
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer bench"
