// The table of options, in the order of the reference.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/policy/policy_options.hpp"
#include "config/settings.hpp"
#include "config/table/option.hpp"
#include "tls/context.hpp"

namespace onceguard::config {

struct upstream_draft {
  std::string name;
  std::string identity;
  std::string url;
  tls::client_files tls;
  gateway::empty_framing empty_body = gateway::empty_framing::chunked;
};

[[nodiscard]] std::span<const row<settings>> gateway_rows();
[[nodiscard]] std::span<const row<settings>> store_rows();
[[nodiscard]] std::span<const row<settings>> reconcile_rows();
[[nodiscard]] std::span<const row<settings>> log_rows();
[[nodiscard]] std::span<const row<settings>> jwt_rows();
[[nodiscard]] std::span<const row<settings>> serve_rows();
/// Of [gateway], besides gateway_rows().
[[nodiscard]] std::span<const row<settings>> tls_rows();
[[nodiscard]] std::span<const row<upstream_draft>> upstream_rows();

/// `--upstream URL` adds an upstream named "default", or changes the address of the only upstream.
[[nodiscard]] const option& upstream_flag();

/// A part of the table as shown in the file and the reference.
struct section {
  std::string_view title;  ///< "[gateway]", "[[route]]"
  std::string_view text;
  std::vector<const option*> options;
  bool policies = false;  ///< may also contain the options of [defaults]
};
[[nodiscard]] const std::vector<section>& sections();

/// The title of the section that has an option of this name; empty: none has.
[[nodiscard]] std::string_view section_of(std::string_view name);

/// All options that have a flag, including `--upstream`.
[[nodiscard]] const std::vector<const option*>& flag_options();

}  // namespace onceguard::config
