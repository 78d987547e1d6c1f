// The table of options, in the order of the reference.
#pragma once
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/option.hpp"
#include "config/settings.hpp"

namespace onceguard::config {

// Writes docs/reference.md from the table of options.

/// The whole page, in Markdown.
[[nodiscard]] std::string reference();

/// A policy under construction: first from [defaults], then from a route.
struct policy_draft {
  route_policy policy;
  std::vector<std::string> pick;
  std::vector<std::string> omit;
  std::map<std::string_view, origin> origins;  ///< by option: the source of its value
  std::map<std::string, std::string> texts;    ///< by option: its value as written in the file
};

struct upstream_draft {
  std::string name;
  std::string identity;
  std::string url;
};

struct route_draft {
  std::string host;
  std::string path;
  std::vector<std::string> method;
  std::string upstream;
};

[[nodiscard]] std::span<const row<settings>> gateway_rows();
[[nodiscard]] std::span<const row<settings>> store_rows();
[[nodiscard]] std::span<const row<settings>> reconcile_rows();
[[nodiscard]] std::span<const row<settings>> log_rows();
[[nodiscard]] std::span<const row<policy_draft>> policy_rows();
[[nodiscard]] std::span<const row<upstream_draft>> upstream_rows();
[[nodiscard]] std::span<const row<route_draft>> route_rows();

/// `--upstream URL` adds an upstream named "default", or changes the address of the only upstream.
[[nodiscard]] const option& upstream_flag();

template <class Target>
[[nodiscard]] std::vector<const option*> specs_of(std::span<const row<Target>> rows) {
  std::vector<const option*> out;
  for (const auto& r : rows) out.push_back(&r.spec);
  return out;
}

/// A part of the table as shown in the file and the reference.
struct section {
  std::string_view title;  ///< "[gateway]", "[[route]]"
  std::string_view text;
  std::vector<const option*> options;
  bool policies = false;  ///< may also contain the options of [defaults]
};
[[nodiscard]] const std::vector<section>& sections();

/// All options that have a flag, including `--upstream`.
[[nodiscard]] const std::vector<const option*>& flag_options();

}  // namespace onceguard::config
