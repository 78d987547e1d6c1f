// What a suite that runs on every store needs to know of one.
#pragma once
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "store/memory/memory_store.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/postgres_database.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class store_delegate {
 public:
  store_delegate() = default;
  virtual ~store_delegate() = default;
  [[nodiscard]] virtual std::unique_ptr<store> open() = 0;
  /// Does the store remember when it is opened once more?
  [[nodiscard]] virtual bool remembers() const = 0;

  base::manual_clock clock;

 protected:
  explicit store_delegate(std::int64_t both_clocks) : clock(both_clocks) {}
};

class memory_delegate final : public store_delegate {
 public:
  [[nodiscard]] std::unique_ptr<store> open() override {
    return std::make_unique<memory_store>(clock);
  }
  [[nodiscard]] bool remembers() const override { return false; }
};

class sqlite_delegate final : public store_delegate {
 public:
  [[nodiscard]] std::unique_ptr<store> open() override {
    sqlite::sqlite_params params;
    params.path = folder_.file("store.db");
    params.clock = &clock;
    auto opened = sqlite::sqlite_store::open(params);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  [[nodiscard]] bool remembers() const override { return true; }

 private:
  temporary_folder folder_;
};

/// The database's clock is a row that follows the test's; leases and retention run by it alike.
class postgres_delegate final : public store_delegate {
 public:
  postgres_delegate() : store_delegate(postgres_database::beginning) {
    database_.set_clock(clock.wall_ms());
    clock.on_move([this] { database_.set_clock(clock.wall_ms()); });
  }
  [[nodiscard]] std::unique_ptr<store> open() override {
    postgres::postgres_params params;
    params.url = database_.url();
    params.clock = &clock;
    params.timeout = milliseconds(10'000);
    params.connections = 2;
    auto opened = postgres::postgres_store::open(params);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  [[nodiscard]] bool remembers() const override { return true; }

 private:
  postgres_database database_;
};

struct engine_under_test {
  const char* name;
  std::function<std::unique_ptr<store_delegate>()> make;
  bool two_clocks = true;  ///< leases run by another clock than retention

  /// Into the names of tests.
  friend void PrintTo(const engine_under_test& engine, std::ostream* to) { *to << engine.name; }
};

inline const engine_under_test engines[] = {
    {"memory", [] { return std::make_unique<memory_delegate>(); }},
    {"sqlite", [] { return std::make_unique<sqlite_delegate>(); }},
    {"postgres", [] { return std::make_unique<postgres_delegate>(); }, false},
};

inline std::vector<engine_under_test> engines_with_two_clocks() {
  std::vector<engine_under_test> out;
  for (const auto& each : engines) {
    if (each.two_clocks) out.push_back(each);
  }
  return out;
}

}  // namespace onceguard::testing
