-- A 200-byte POST with a key that was never sent before.
local run = os.getenv("BENCH_RUN") or "0"
local count = 0
local body = '{"amount":500,"currency":"eur","card":"tok_visa","description":"' ..
             string.rep("x", 200 - 65) .. '"}'
local head = "POST /charges HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n" ..
             "Authorization: Bearer bench\r\nContent-Length: " .. #body .. "\r\nIdempotency-Key: \""
function request()
  count = count + 1
  return head .. run .. "-" .. count .. "\"\r\n\r\n" .. body
end
