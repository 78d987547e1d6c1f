#include "base/library_fault.hpp"

#include <atomic>

namespace onceguard::base {
namespace {

std::atomic<std::string (*)(std::string_view)> checking{nullptr};

}  // namespace

std::string library_fault(std::string_view name) {
  const auto check = checking.load();
  return check == nullptr || name.empty() ? std::string() : check(name);
}

void set_library_check(std::string (*check)(std::string_view name)) noexcept { checking = check; }

}  // namespace onceguard::base
