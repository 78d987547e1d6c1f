// The options of a [[route]], besides those of its policy.
#include <algorithm>

#include "base/url.hpp"
#include "config/policy/policy_options.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

std::string public_url_complaint(std::string_view value) {
  const auto parts = base::split_url(value);
  const bool web = parts.scheme == "https" || parts.scheme == "http";
  const bool plain =
      std::all_of(value.begin(), value.end(), [](char c) { return c > ' ' && c < 127; });
  if (web && plain && !parts.query && !parts.fragment && !parts.authority.value_or("").empty() &&
      parts.authority->find('@') == std::string_view::npos) {
    return {};
  }
  return "expected a URL such as \"https://shop.example.com/hooks/twilio\" without user, password, "
         "query and fragment, got " +
         quoted_url(base::before_authority(value));
}

const row<route_draft> route_table[]{
#define ROUTE_OPTION(type, option, ...) \
  {{.name = #option, __VA_ARGS__}, assign<&route_draft::option>},
#include "config/policy/route_options.inc"
#undef ROUTE_OPTION
};

}  // namespace

std::span<const row<route_draft>> route_rows() { return route_table; }

}  // namespace onceguard::config
