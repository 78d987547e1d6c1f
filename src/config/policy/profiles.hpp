// Whole contracts that clients know already: a profile sets what a configuration leaves open.
#pragma once
#include <span>
#include <string_view>

#include "config/policy/policy_options.hpp"

namespace onceguard::config {

/// What a contract says, as an option's value is written on a command line.
struct profile_row {
  std::string_view profile;
  std::string_view option;
  std::string_view value;
  std::string_view source;  ///< the address of the page that says so
};

[[nodiscard]] std::span<const profile_row> profile_rows();

/// Sets the options of the draft's profile that are not set by the file, a variable or a flag.
void apply_profile(policy_draft& draft);

}  // namespace onceguard::config
