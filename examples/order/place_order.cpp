#include "place_order.hpp"

void make_tables(shop& shop) {
  shop.run("CREATE TABLE IF NOT EXISTS articles (name text, stock integer, price integer)");
  // Each effect of an order, and what took it back.
  shop.run("CREATE TABLE IF NOT EXISTS entries (number text, entry text)");
}

onceguard::answer place_order(onceguard::steps& flow, shop& shop, cards& cards,
                              const order& order) {
  const auto enter = [&](const std::string& entry) {
    shop.run("INSERT INTO entries VALUES (" + quoted(order.number) + ", " + quoted(entry) + ")");
    return entry;
  };
  const auto change_stock = [&](const std::string& change, const std::string& condition) {
    return shop.run("UPDATE articles SET stock = stock + " + change +
                    " WHERE name = " + quoted(order.article) + condition + " RETURNING stock");
  };

  flow.step(
      "reserve stock",
      [&] {
        if (change_stock("-1", " AND stock > 0").empty()) flow.fail({409, {}, "sold out"});
        return enter("reserved");
      },
      [&](const std::string&) {
        change_stock("1", "");
        enter("stock returned");
      });

  // Between two steps, so that no transaction is open meanwhile. After a crash it is called again,
  // with the same key.
  const auto charge = cards.charge(flow.key_for("charge"), order.cents);
  if (!charge) flow.fail({402, {}, "card declined"});
  flow.step(
      "charge card", [&] { return enter("paid"), *charge; },
      [&](const std::string& stored) {
        cards.refund(flow.key_for("refund"), stored);
        enter("refunded");
      });

  flow.step(
      "create shipment",
      [&] {
        if (order.article == "anvil") flow.fail({422, {}, "too heavy to be shipped"});
        return enter("shipment created");
      },
      [&](const std::string&) { enter("shipment cancelled"); });

  flow.step("confirm", [&] {
    const auto price = shop.run("SELECT price FROM articles WHERE name = " + quoted(order.article));
    if (price != order.cents) flow.fail({409, {}, "the price has changed"});
    return enter("confirmed");
  });
  return {201, {}, "order " + order.number + " is confirmed"};
}
