// A PostgreSQL store on a database of the tests' own server, with the machine's clock.
#pragma once
#include <future>
#include <libpq-fe.h>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "base/hex.hpp"
#include "store/contract/acts.hpp"
#include "store/postgres/database.hpp"
#include "store/postgres/postgres_store.hpp"

namespace onceguard::testing {

class postgres_fixture : public ::testing::Test {
 protected:
  using store_ptr = std::unique_ptr<postgres::postgres_store>;

  [[nodiscard]] postgres::postgres_params params() const {
    postgres::postgres_params out;
    out.url = database_.url();
    out.timeout = milliseconds(5'000);
    return out;
  }
  static store_ptr open(const postgres::postgres_params& value) {
    auto opened = postgres::postgres_store::open(value);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  store_ptr open() { return open(params()); }

  /// The URL of the test database through `port`.
  [[nodiscard]] static std::string url_at(int port) {
    return postgres_server::url_at(port, "onceguard");
  }
  [[nodiscard]] static std::string sql_digest(const record_id& id) {
    return "'\\x" + base::to_hex(id) + "'::bytea";
  }
  /// Runs `act` on another thread.
  template <class Act>
  static auto meanwhile(Act act) {
    return std::async(std::launch::async, std::move(act));
  }

  postgres_server& server_ = postgres_server::shared();
  postgres_database database_{server_};
};

}  // namespace onceguard::testing
