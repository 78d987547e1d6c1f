// A unique constraint: the customer's reference is there once, whoever sends it how often.
#include <nlohmann/json.hpp>

#include "resources.hpp"

namespace patterns {
namespace {

using nlohmann::json;

struct order {
  std::string reference;
  std::string cents;
  sql_value coupon;
};

response answer_of(const order& wanted, const row& found) {
  json body{{"id", std::stoi(*found[0])}, {"reference", wanted.reference}};
  body["cents"] = std::stoi(*found[1]);
  return {201,
          {{"Location", "/orders/" + *found[0]}, {"Content-Type", "application/json"}},
          body.dump()};
}

response make(database& shop, const order& wanted) {
  const auto done = shop.insert_once(
      "INSERT INTO orders (reference, cents, coupon) VALUES ($1, $2, $3)"
      " ON CONFLICT (reference) DO NOTHING RETURNING id, cents, coupon",
      "SELECT id, cents, coupon FROM orders WHERE reference = $1",
      {wanted.reference, wanted.cents, wanted.coupon});
  // The constraint knows one column, and this is about all of them.
  const bool same = done.columns[1] == wanted.cents && done.columns[2] == wanted.coupon;
  if (!done.made && !same) return {422, {}, "this reference is of another order\n"};
  return answer_of(wanted, done.columns);
}

/// Between the two statements there is room for a twin.
response make_naively(database& shop, const order& wanted) {
  auto found = shop.run({"SELECT id, cents FROM orders WHERE reference = $1", {wanted.reference}});
  if (found.empty()) {
    found =
        shop.run({"INSERT INTO orders (reference, cents, coupon) VALUES ($1, $2, $3)"
                  " RETURNING id, cents",
                  {wanted.reference, wanted.cents, wanted.coupon}});
  }
  return answer_of(wanted, found[0]);
}

}  // namespace

void create_orders(database& shop, bool naive) {
  const std::string unique = naive ? "" : " CONSTRAINT orders_reference_key UNIQUE";
  shop.run({std::string("CREATE TABLE IF NOT EXISTS orders (id ") + shop.identity() +
            ", reference text NOT NULL" + unique +
            ", cents integer CHECK (cents > 0), coupon text UNIQUE)"});
}

response handle_orders(database& shop, const request& message, bool naive) {
  if (message.method != "POST") return list(shop, "SELECT reference FROM orders ORDER BY id");
  const auto body = json::parse(message.body);
  order wanted{body.at("reference"), body.at("cents").dump(), {}};
  if (body.contains("coupon")) wanted.coupon = body["coupon"].get<std::string>();
  return naive ? make_naively(shop, wanted) : make(shop, wanted);
}

}  // namespace patterns
