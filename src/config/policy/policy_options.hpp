// The options of [defaults] and [[route]].
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/policy.hpp>

#include "config/policy/option.hpp"

namespace onceguard::config {

/// A policy under construction: first from [defaults], then from a route.
struct policy_draft {
  route_policy policy;
  std::vector<std::string> scope{"credential"};
  std::vector<std::string> pick;
  std::vector<std::string> omit;
  std::string profile;                         ///< empty: none
  std::string error_template_file;             ///< empty: none
  std::map<std::string_view, origin> origins;  ///< by option: the source of its value
  std::map<std::string, std::string> texts;    ///< by option: its value as written in the file
};

struct route_draft {
  std::string host;
  std::string path;
  std::vector<std::string> method;
  std::string upstream;  ///< its name; empty: the first one
  std::string webhook;   ///< the name of the sender; empty: its requests are no webhooks
  std::string webhook_secret_file;
  std::string webhook_queue;
  std::string webhook_url;  ///< the public one of `path`; empty: unknown
  std::string webhook_id;
};

[[nodiscard]] std::span<const row<policy_draft>> policy_rows();
/// Parts of these: what makes two requests one operation …
[[nodiscard]] std::span<const row<policy_draft>> key_rows();
/// … and how errors are written.
[[nodiscard]] std::span<const row<policy_draft>> error_rows();
/// Of a [[route]], besides those of its policy.
[[nodiscard]] std::span<const row<route_draft>> route_rows();

}  // namespace onceguard::config
