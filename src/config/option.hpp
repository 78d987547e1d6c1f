// One row of the table of options: data from which the TOML reading, the flags, the environment,
// `check` and the reference all come.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/document.hpp"
#include "config/remark.hpp"

namespace onceguard::config {

enum class value_kind : std::uint8_t {
  boolean,
  integer,
  size,      ///< bytes: 512, "64KiB"
  duration,  ///< milliseconds: "250ms", "30s"
  choice,    ///< one of `choices`; the value is its index
  status,    ///< an HTTP status, 100 to 599
  text,
  list,      ///< of texts; no two the same
  outcomes,  ///< { "5xx" = "release" }; the words are `choices`
};

using outcome_list = std::vector<std::pair<std::string, std::string>>;
/// boolean; integer, size, duration, choice and status; text; list; outcomes.
using option_value =
    std::variant<bool, std::int64_t, std::string, std::vector<std::string>, outcome_list>;

struct option {
  std::string_view name{};  ///< in the TOML file
  std::string_view flag{};  ///< without the dashes; empty: in the file only
  value_kind kind = value_kind::text;
  std::string_view fallback{};  ///< the default, as a flag would say it
  std::string_view example{};   ///< the same, for the reference; empty: the default says enough
  std::string_view text{};      ///< for the reference and `--help`; one sentence or a few
  std::int64_t min = 0;         ///< inclusive bounds of integers, sizes and durations
  std::int64_t max = 0;
  bool may_be_empty = false;  ///< "" is a value too (0 for a duration or status)
  std::span<const std::string_view> choices{};
  /// What is wrong with a text, or with one item of a list; empty: nothing.
  std::string (*complaint)(std::string_view) = nullptr;

  [[nodiscard]] std::string variable() const;  ///< of the environment: "ONCEGUARD_STORE_TIMEOUT"
};

/// A row with the place that it fills.
template <class Target>
struct row {
  option spec;
  void (*assign)(Target&, const option_value&) = nullptr;
};

/// A value that was read, and where it stood.
struct setting {
  const option* spec = nullptr;
  option_value value;
  origin at;
};

/// Reads a flag or variable: lists and outcomes separated by commas (`5xx=release,402=complete`).
/// `title` stands before the option's name in a fault. Faults go to `out`.
[[nodiscard]] std::optional<option_value> read_text(const option& spec, std::string_view text,
                                                    const origin& origin, std::string_view title,
                                                    remarks& out);
[[nodiscard]] std::optional<option_value> read_node(const option& spec, const node& node,
                                                    const std::string& file, layer where,
                                                    std::string_view title, remarks& out);

/// A value as it would stand in a TOML file.
[[nodiscard]] std::string toml_text(const option& spec, const option_value& value);
/// "a duration from 1s to 24h", for the reference.
[[nodiscard]] std::string expectation(const option& spec);

}  // namespace onceguard::config
