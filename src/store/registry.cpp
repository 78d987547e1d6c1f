#include "store/registry.hpp"

#include <algorithm>

#include "base/url.hpp"

namespace onceguard {

const store_kind* store_registry::kind_of(std::string_view url) const noexcept {
  const auto scheme = base::scheme_of(url);
  for (const auto* kind : kinds_) {
    const auto& schemes = kind->schemes;
    if (std::find(schemes.begin(), schemes.end(), scheme) != schemes.end()) return kind;
  }
  return nullptr;
}

std::string store_registry::url_fault(std::string_view url) const {
  if (url.find('\0') != std::string_view::npos) return "a path can't hold a NUL byte";
  if (const auto* kind = kind_of(url)) return kind->url_fault(url);
  std::string expected;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (i > 0) expected += i + 1 == kinds_.size() ? " or " : ", ";
    expected.append("\"").append(kinds_[i]->example).append("\"");
  }
  // The URL itself may hold a password, so only its scheme is named.
  const auto scheme = base::scheme_of(url);
  return "expected " + expected + ", got " +
         (scheme.empty() ? "a value without a scheme"
                         : "the scheme \"" + std::string(scheme) + "\"");
}

result<std::unique_ptr<store>> store_registry::open(const store_params& params) const {
  if (auto fault = url_fault(params.url); !fault.empty()) {
    return error(errc::invalid_argument, "store url: " + fault);
  }
  return kind_of(params.url)->open(params);
}

}  // namespace onceguard
