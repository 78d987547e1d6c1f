// A guard on the state: a payment is captured once, because afterwards it is not `authorized`. What
// the first one did stands in the row, so a repeat of it gets the same answer.
#include <nlohmann/json.hpp>

#include "resources.hpp"

namespace patterns {
namespace {

using nlohmann::json;

constexpr const char* columns = "status, cents, settled";

response answer_of(std::uint16_t status, const std::string& id, const row& found) {
  const json body{
      {"id", id}, {"status", *found[0]}, {"cents", *found[1]}, {"settled", found[2].value_or("0")}};
  return {status, {{"Content-Type", "application/json"}}, body.dump()};
}

/// What the act makes of an authorized payment.
struct transition {
  std::string status;
  std::string settled;
};

response make(database& shop, const std::string& id, const transition& wanted) {
  std::optional<first_row> done;
  shop.in_transaction([&] {
    done =
        shop.change_once({std::string("UPDATE payments SET status = $2, settled = $3"
                                      " WHERE id = $1 AND status = 'authorized' RETURNING ") +
                              columns,
                          {id, wanted.status, wanted.settled}},
                         {std::string("SELECT ") + columns + " FROM payments WHERE id = $1", {id}});
    if (!done || !done->made) return;
    shop.run({"INSERT INTO movements (payment, cents) VALUES ($1, $2)", {id, wanted.settled}});
  });
  if (!done) return {404, {}, ""};
  const auto& found = done->columns;
  const bool as_wanted = found[0] == wanted.status && found[2] == wanted.settled;
  return answer_of(as_wanted ? 200 : 409, id, found);
}

/// Asked first, and acted then: a twin asks meanwhile. And a repeat gets no answer but a refusal.
response make_naively(database& shop, const std::string& id, const transition& wanted) {
  const auto found = shop.run({"SELECT status FROM payments WHERE id = $1", {id}});
  if (found.empty()) return {404, {}, ""};
  if (found[0][0] != "authorized") return {409, {}, "it is " + *found[0][0] + '\n'};
  shop.run({"INSERT INTO movements (payment, cents) VALUES ($1, $2)", {id, wanted.settled}});
  const auto done = shop.run({std::string("UPDATE payments SET status = $2, settled = $3"
                                          " WHERE id = $1 RETURNING ") +
                                  columns,
                              {id, wanted.status, wanted.settled}});
  return answer_of(200, id, done[0]);
}

}  // namespace

void create_payments(database& shop) {
  shop.run(
      {"CREATE TABLE IF NOT EXISTS payments (id text PRIMARY KEY, cents bigint NOT NULL,"
       " status text NOT NULL, settled bigint)"});
  shop.run({"CREATE TABLE IF NOT EXISTS movements (payment text NOT NULL, cents bigint NOT NULL)"});
}

response handle_payment(database& shop, const request& message, const std::string& id,
                        std::string_view act, bool naive) {
  if (message.method == "PUT" && act.empty()) {
    const auto done = shop.insert_once(
        std::string("INSERT INTO payments (id, cents, status) VALUES ($1, $2, 'authorized')"
                    " ON CONFLICT (id) DO NOTHING RETURNING ") +
            columns,
        std::string("SELECT ") + columns + " FROM payments WHERE id = $1",
        {id, std::string(message.body)});
    return answer_of(done.made ? 201 : 200, id, done.columns);
  }
  transition wanted;
  if (act == "capture") {
    wanted = {"captured", std::string(message.body)};
  } else if (act == "void") {
    wanted = {"voided", "0"};
  }
  if (message.method != "POST" || wanted.status.empty()) return {404, {}, ""};
  return naive ? make_naively(shop, id, wanted) : make(shop, id, wanted);
}

}  // namespace patterns
