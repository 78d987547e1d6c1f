// The resources of the example, a file and a page of docs/patterns for each. `naive` is how it is
// often written: the tests show what becomes of that.
#pragma once
#include <string_view>

#include <onceguard/http.hpp>

#include "database.hpp"

namespace patterns {

using onceguard::http::request;
using onceguard::http::response;

/// Makes the tables, unless they are there.
void create_counters(database& shop);
void create_documents(database& shop);
void create_orders(database& shop, bool naive);
void create_payments(database& shop);
void create_things(database& shop);

/// /counters/NAME: PUT sets, DELETE removes, PATCH adds. (natural.md)
response handle_counter(database& shop, const request& message, const std::string& name);
/// /documents/NAME: PUT and DELETE on the version that was seen. (optimistic-locking.md)
response handle_document(database& shop, const request& message, const std::string& name,
                         bool naive);
/// /orders: POST, one for each reference. (unique-constraint.md)
response handle_orders(database& shop, const request& message, bool naive);
/// /payments/ID, /payments/ID/capture, /payments/ID/void. (state-machine.md)
response handle_payment(database& shop, const request& message, const std::string& id,
                        std::string_view act, bool naive);
/// /things/UUID: PUT makes it. POST /things is the naive one. (client-ids.md)
response handle_thing(database& shop, const request& message, const std::string& id);
response make_thing_naively(database& shop, const request& message);

/// The first column of all rows, a line each.
inline response list(database& shop, const std::string& query) {
  std::string out;
  for (const auto& each : shop.run({query})) out += each[0].value_or("") + '\n';
  return {200, {}, out};
}

}  // namespace patterns
