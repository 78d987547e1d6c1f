// A till that the crash tests kill: charges for each key that comes on its standard input, through
// `execute`, until it is charged; says so, and stops for good where its arguments say so.
//   execute_charge URL once|steps [--serializable] [--stop-at POINT]
#include <iostream>
#include <poll.h>
#include <unistd.h>

#include "execute/execute_shop.hpp"

namespace onceguard::testing {
namespace {

struct orders {
  std::string url;
  bool in_steps = false;
  std::string stop_at;
  execute_policy policy;
};

/// Says that it is there, and waits for its end.
void reach(const orders& orders, const std::string& point) {
  if (orders.stop_at != point) return;
  std::cout << "at " << point << std::endl;
  while (true) ::pause();
}

/// Two statements, so that there is something between them.
void charge(till& till, const orders& orders, const std::string& customer,
            const std::string& point) {
  till.charge(customer);
  reach(orders, point);
  till.charge(customer + " fee");
}

result<verdict> once(till& till, const orders& orders, const std::string& key) {
  return till.execute({"shop", key}, orders.policy, [&](const lease& held) {
    reach(orders, "after claim");
    charge(till, orders, key, "inside the effect");
    reach(orders, "before commit");
    return answer{201, {}, "attempt " + std::to_string(held.attempt)};
  });
}

result<verdict> in_steps(till& till, const orders& orders, const std::string& key) {
  return till.execute_steps({"shop", key}, orders.policy, [&](steps& flow) {
    reach(orders, "after claim");
    const auto first = flow.step("one", [&] {
      charge(till, orders, key + " one", "inside step one");
      return flow.key_for(key).substr(0, 8);
    });
    reach(orders, "between the steps");
    flow.step("two", [&] {
      charge(till, orders, key + " two", "inside step two");
      return std::string();
    });
    reach(orders, "before the answer");
    return answer{201, {}, first};
  });
}

std::unique_ptr<till> open(const std::string& url) {
  constexpr std::string_view sqlite = "sqlite:";
  if (url.starts_with(sqlite)) return std::make_unique<sqlite_till>(url.substr(sqlite.size()));
  return std::make_unique<libpq_till>(url);
}

/// Again and again, as a client does; the connection is made anew where it broke.
verdict insist(std::unique_ptr<till>& owned, const orders& orders, const std::string& key) {
  while (true) {
    try {
      if (!owned) owned = open(orders.url);
      auto reply = orders.in_steps ? in_steps(*owned, orders, key) : once(*owned, orders, key);
      if (!reply && !reply.error().retryable()) throw std::logic_error(reply.error().detail);
      if (reply && reply->answer) return *reply;
      if (!reply && reply.error().code == errc::store_unreachable) owned.reset();
    } catch (const std::runtime_error&) {  // nobody there to connect to
      owned.reset();
    }
    ::poll(nullptr, 0, 5);
  }
}

int run(const orders& orders) {
  std::unique_ptr<till> owned;
  for (std::string key; std::getline(std::cin, key);) {
    reach(orders, "before claim");
    const auto reply = insist(owned, orders, key);
    reach(orders, "after commit");
    std::cout << key << (reply.kind == verdict_kind::run ? " run " : " replay ")
              << reply.answer->body << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace onceguard::testing

int main(int count, char** words) {
  onceguard::testing::orders orders;
  if (count < 3) return 2;
  orders.url = words[1];
  orders.in_steps = std::string_view(words[2]) == "steps";
  orders.policy.lease = onceguard::milliseconds(200);
  for (int i = 3; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--stop-at" && i + 1 < count) orders.stop_at = words[++i];
    if (word == "--serializable") {
      orders.policy.isolation = onceguard::isolation_level::serializable;
      orders.policy.conflict_retries = 20;
    }
  }
  return onceguard::testing::run(orders);
}
