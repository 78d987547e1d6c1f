// Places an order in four steps. If one of them can not be finished, those before it are taken
// back. After a crash at any point, the same call goes on where it was.
//
//   order shop.db http://localhost:9000 order-17 ada clock 4200 [LEASE]
//
// LEASE: for how many milliseconds after a crash nobody goes on with the order.
#include <cstdio>
#include <stdexcept>

#include "place_order.hpp"

int main(int count, char** words) try {
  if (count != 7 && count != 8) {
    return std::fputs("order DATABASE CARDS NUMBER CUSTOMER ARTICLE CENTS [LEASE]\n", stderr), 2;
  }
  const auto shop = open_shop(words[1]);
  cards cards(words[2]);
  const std::string customer = words[4];
  const order order{words[3], words[5], words[6]};
  onceguard::execute_policy policy;
  if (count == 8) policy.lease = onceguard::milliseconds(std::stol(words[7]));

  make_tables(*shop);
  const auto reply = shop->execute_steps(
      {customer, order.number, order.article + " " + order.cents}, policy,
      [&](onceguard::steps& flow) { return place_order(flow, *shop, cards, order); });

  if (!reply) throw std::runtime_error(reply.error().detail);
  if (!reply->answer) return std::puts("not now"), 75;  // 75: try again
  const bool again = reply->kind == onceguard::verdict_kind::replay;
  std::printf("%d %s%s\n", reply->answer->status, reply->answer->body.c_str(),
              again ? " (replayed)" : "");
  return 0;
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 75;
}
