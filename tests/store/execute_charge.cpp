// A till that the crash tests kill: charges for each key that comes on its standard input, through
// `execute`, until it is charged; says so, and stops for good where it is told to.
//   execute_charge URL once|steps [--serializable] [--stop-at POINT]
#include <iostream>
#include <poll.h>
#include <unistd.h>

#include "store/execute_shop.hpp"

namespace onceguard::testing {
namespace {

struct orders {
  std::string url;
  bool in_steps = false;
  std::string stop_at;
  execute_policy policy;
};

/// Says that it is there, and waits for its end.
void reach(const orders& of, const std::string& point) {
  if (of.stop_at != point) return;
  std::cout << "at " << point << std::endl;
  while (true) ::pause();
}

/// Two statements, so that there is something between them.
void charge(till& at, const orders& of, const std::string& who, const std::string& point) {
  at.charge(who);
  reach(of, point);
  at.charge(who + " fee");
}

result<verdict> once(till& at, const orders& of, const std::string& key) {
  return at.execute({"shop", key}, of.policy, [&](const lease& held) {
    reach(of, "after claim");
    charge(at, of, key, "inside the effect");
    reach(of, "before commit");
    return answer{201, {}, "attempt " + std::to_string(held.attempt)};
  });
}

result<verdict> in_steps(till& at, const orders& of, const std::string& key) {
  return at.execute_steps({"shop", key}, of.policy, [&](steps& flow) {
    reach(of, "after claim");
    const auto first = flow.step("one", [&] {
      charge(at, of, key + " one", "inside step one");
      return flow.key_for(key).substr(0, 8);
    });
    reach(of, "between the steps");
    flow.step("two", [&] {
      charge(at, of, key + " two", "inside step two");
      return std::string();
    });
    reach(of, "before the answer");
    return answer{201, {}, first};
  });
}

std::unique_ptr<till> open(const std::string& url) {
  constexpr std::string_view sqlite = "sqlite:";
  if (url.starts_with(sqlite)) return std::make_unique<sqlite_till>(url.substr(sqlite.size()));
  return std::make_unique<libpq_till>(url);
}

/// Again and again, as a client does; the connection is made anew where it broke.
verdict insist(std::unique_ptr<till>& at, const orders& of, const std::string& key) {
  while (true) {
    try {
      if (!at) at = open(of.url);
      auto told = of.in_steps ? in_steps(*at, of, key) : once(*at, of, key);
      if (!told && !told.error().retryable()) throw std::logic_error(told.error().detail);
      if (told && told->answer) return *told;
      if (!told && told.error().code == errc::store_unreachable) at.reset();
    } catch (const std::runtime_error&) {  // nobody there to connect to
      at.reset();
    }
    ::poll(nullptr, 0, 5);
  }
}

int run(const orders& of) {
  std::unique_ptr<till> at;
  for (std::string key; std::getline(std::cin, key);) {
    reach(of, "before claim");
    const auto told = insist(at, of, key);
    reach(of, "after commit");
    std::cout << key << (told.kind == verdict_kind::run ? " run " : " replay ") << told.answer->body
              << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace onceguard::testing

int main(int count, char** words) {
  onceguard::testing::orders of;
  if (count < 3) return 2;
  of.url = words[1];
  of.in_steps = std::string_view(words[2]) == "steps";
  of.policy.lease = onceguard::milliseconds(200);
  for (int i = 3; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--stop-at" && i + 1 < count) of.stop_at = words[++i];
    if (word == "--serializable") {
      of.policy.isolation = onceguard::isolation_level::serializable;
      of.policy.conflict_retries = 20;
    }
  }
  return onceguard::testing::run(of);
}
