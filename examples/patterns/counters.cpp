// Natural idempotency: a full replacement says what is to be there, so it may arrive as often as it
// likes. An addition says what is to be added: each arrival adds.
#include "resources.hpp"

namespace patterns {

void create_counters(database& shop) {
  shop.run({"CREATE TABLE IF NOT EXISTS counters (name text PRIMARY KEY, value bigint)"});
}

response handle_counter(database& shop, const request& message, const std::string& name) {
  const std::string body(message.body);
  if (message.method == "PUT") {
    shop.run(
        {"INSERT INTO counters (name, value) VALUES ($1, $2)"
         " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
         {name, body}});
    return {200, {}, body};
  }
  if (message.method == "DELETE") {
    shop.run({"DELETE FROM counters WHERE name = $1", {name}});
    return {204, {}, ""};  // also if it was gone: that is what the client wants
  }
  if (message.method == "PATCH") {
    const auto changed = shop.run(
        {"UPDATE counters SET value = value + $2 WHERE name = $1 RETURNING value", {name, body}});
    if (changed.empty()) return {404, {}, ""};
    return {200, {}, changed[0][0].value_or("")};
  }
  const auto found = shop.run({"SELECT value FROM counters WHERE name = $1", {name}});
  if (found.empty()) return {404, {}, ""};
  return {200, {}, found[0][0].value_or("")};
}

}  // namespace patterns
