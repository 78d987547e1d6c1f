// The options of [defaults] and [[route]].
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/policy.hpp>

#include "config/table/option.hpp"

namespace onceguard::config {

/// A policy under construction: first from [defaults], then from a route.
struct policy_draft {
  route_policy policy;
  std::vector<std::string> scope{"credential"};
  std::vector<std::string> pick;
  std::vector<std::string> omit;
  std::string profile;                         ///< empty: none
  std::string error_template_file;             ///< empty: none
  std::string_view title = "[[route]] ";       ///< of the table, for remarks
  std::map<std::string_view, origin> origins;  ///< by option: the source of its value
  std::set<std::string_view> of_profile;       ///< options whose value is the profile's
  std::map<std::string, std::string> texts;    ///< by option: its value as written in the file
};

/// The values of a [[route]], besides those of its policy.
struct route_draft {
#define ROUTE_OPTION(type, option, ...) type option;
#include "config/policy/route_options.inc"
#undef ROUTE_OPTION
};

[[nodiscard]] std::span<const row<policy_draft>> policy_rows();
/// Parts of these: what makes two requests one operation …
[[nodiscard]] std::span<const row<policy_draft>> key_rows();
/// … what is kept of an answer …
[[nodiscard]] std::span<const row<policy_draft>> answer_rows();
/// … and how errors are written.
[[nodiscard]] std::span<const row<policy_draft>> error_rows();
/// Of a [[route]], besides those of its policy.
[[nodiscard]] std::span<const row<route_draft>> route_rows();

}  // namespace onceguard::config
