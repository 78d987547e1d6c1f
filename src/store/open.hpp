// Opens stores by URL. Each engine has a factory; the program registers those that it was built
// with.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "base/clock.hpp"

namespace onceguard {

struct store_params {
  std::string url = "sqlite:onceguard.db";
  milliseconds timeout{2'000};  ///< also bounds the opening
  std::size_t connections = 4;  ///< for stores that use connections
  const base::clock* clock = &base::system_clock();
};

/// Opens a store; blocks. errc::invalid_argument: the URL is wrong. Other errors describe what is
/// wrong with the store that the URL names.
using store_factory = result<std::unique_ptr<store>> (*)(const store_params& params);

class store_registry {
 public:
  /// `scheme`: without the colon.
  void add(std::string scheme, store_factory factory) { factories_[std::move(scheme)] = factory; }
  [[nodiscard]] result<std::unique_ptr<store>> open(const store_params& params) const;
  [[nodiscard]] bool knows(std::string_view url) const;

 private:
  std::map<std::string, store_factory, std::less<>> factories_;
};

}  // namespace onceguard
