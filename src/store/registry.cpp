#include "store/registry.hpp"

#include <algorithm>

#include "base/library_fault.hpp"
#include "base/url.hpp"
#include "store/pepper.hpp"
#include "store/sealed/sealed_store.hpp"

namespace onceguard {
namespace {

/// SQLite, libpq and PostgreSQL's settings count milliseconds in an int, some of them several
/// times.
constexpr milliseconds longest_timeout{std::chrono::hours(24)};

}  // namespace

result<std::unique_ptr<store>> with_secrets(std::unique_ptr<store> opened,
                                            const store_params& params) {
  auto fits = use_pepper(params.key_pepper_file);
  if (fits) {
    const auto rule = params.takes_no_keys ? mark_rule::compare : mark_rule::make;
    fits = check_pepper(*opened, params.timeout, rule);
  }
  if (!fits) {
    opened->stop();
    return fits.error();
  }
  return sealed::sealed_store::over(std::move(opened), params.encryption_keys_file);
}

const store_kind* store_registry::kind_of(std::string_view url) const noexcept {
  const auto scheme = base::scheme_of(url);
  for (const auto* kind : kinds_) {
    const auto& schemes = kind->schemes;
    if (std::find(schemes.begin(), schemes.end(), scheme) != schemes.end()) return kind;
  }
  return nullptr;
}

std::string store_registry::accelerator_fault(std::string_view url) const {
  const auto* kind = kind_of(url);
  if (kind != nullptr && kind->accelerator_fault != nullptr) {
    auto missing = base::library_fault(kind->library);
    return missing.empty() ? kind->accelerator_fault(url) : missing;
  }
  return "expected " +
         examples([](const store_kind& each) { return each.accelerator_fault != nullptr; });
}

std::string store_registry::url_fault(std::string_view url) const {
  if (url.find('\0') != std::string_view::npos) return "a path can't hold a NUL byte";
  if (const auto* kind = kind_of(url)) {
    // First: the URL may be read by that library.
    auto missing = base::library_fault(kind->library);
    return missing.empty() ? kind->url_fault(url) : missing;
  }
  // The URL itself may hold a password, so only its scheme is named.
  const auto scheme = base::scheme_of(url);
  return "expected " + examples([](const store_kind&) { return true; }) + ", got " +
         (scheme.empty() ? "a value without a scheme"
                         : "the scheme \"" + std::string(scheme) + "\"");
}

std::string store_registry::examples(bool (*fits)(const store_kind&)) const {
  std::vector<std::string> quoted;
  for (const auto* kind : kinds_) {
    if (fits(*kind)) quoted.push_back("\"" + std::string(kind->example) + "\"");
  }
  std::string out;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (i > 0) out += i + 1 == quoted.size() ? " or " : ", ";
    out += quoted[i];
  }
  return out;
}

result<std::unique_ptr<store>> store_registry::open(const store_params& params) const {
  if (auto fault = url_fault(params.url); !fault.empty()) {
    return error(errc::invalid_argument, "store url: " + fault);
  }
  if (params.timeout.count() <= 0) {
    return error(errc::invalid_argument, "store timeout: expected a positive time");
  }
  auto bounded = params;
  bounded.timeout = std::min(params.timeout, longest_timeout);
  auto opened = kind_of(params.url)->open(bounded);
  if (!opened || params.answers_as_stored) return opened;
  return with_secrets(std::move(*opened), bounded);
}

}  // namespace onceguard
