// What a suite that runs on every store needs to know of one.
#pragma once
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "store/memory/memory_store.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class store_delegate {
 public:
  virtual ~store_delegate() = default;
  [[nodiscard]] virtual std::unique_ptr<store> open() = 0;
  /// Does the store remember when it is opened once more?
  [[nodiscard]] virtual bool remembers() const = 0;

  base::manual_clock clock;
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

struct engine_under_test {
  const char* name;
  std::function<std::unique_ptr<store_delegate>()> make;
};

inline const engine_under_test engines[] = {
    {"memory", [] { return std::make_unique<memory_delegate>(); }},
    {"sqlite", [] { return std::make_unique<sqlite_delegate>(); }},
};

}  // namespace onceguard::testing
