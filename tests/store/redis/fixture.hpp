// A Redis store on the tests' own server, with the machine's clock.
#pragma once
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "store/contract/acts.hpp"
#include "store/redis/redis_store.hpp"
#include "support/redis_server.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {

class redis_fixture : public ::testing::Test {
 protected:
  using store_ptr = std::unique_ptr<redis::redis_store>;

  redis_fixture() { server_.session().run({"FLUSHALL"}); }

  static redis::redis_params params_for(const std::string& url) {
    redis::redis_params out;
    out.url = url;
    out.timeout = milliseconds(5'000);
    return out;
  }
  static store_ptr open(const redis::redis_params& value) {
    auto opened = redis::redis_store::open(value);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  static store_ptr open(const redis_server& server, const std::string& query = {}) {
    return open(params_for(server.url(query)));
  }
  store_ptr open() { return open(server_); }

  /// Of what is refused within a short timeout: a busy machine may not get as far as the reason.
  template <class Refusal>
  static void await_reason(const std::string& words, Refusal refusal) {
    wait_until("the reason", [&] {
      const std::string detail = refusal().detail;
      if (detail.find(words) == std::string::npos) throw std::runtime_error(detail);
      return true;
    });
  }

  [[nodiscard]] static std::string name_of(const claim& request) {
    return "onceguard:r:" + std::string(base::as_chars(request.id));
  }

  static redis_server& shared() {
    static redis_server all;
    return all;
  }
  redis_server& server_ = shared();
};

/// Evicts every key that may expire, among them a key of another program. The store's metadata
/// stay.
inline void evict(const redis_server& server) {
  auto admin = server.session();
  admin.run({"SET", "another", "x", "EX", "1000"});
  admin.run({"CONFIG", "SET", "maxmemory-policy", "volatile-ttl"});
  admin.run({"CONFIG", "SET", "maxmemory", "1"});
  wait_until("an eviction", [&] {
    admin.run({"PING"});
    return admin.run({"EXISTS", "another"}) == "0";
  });
  admin.run({"CONFIG", "SET", "maxmemory", "0"});
  admin.run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
}

}  // namespace onceguard::testing
