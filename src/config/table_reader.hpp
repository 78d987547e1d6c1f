// Reads one TOML table according to its part of the table of options.
#pragma once
#include <string_view>
#include <vector>

#include "config/document.hpp"
#include "config/option.hpp"
#include "config/options.hpp"

namespace onceguard::config {

/// The values in `table`. A name that `known` lacks is a fault with a suggestion.
[[nodiscard]] std::vector<setting> read_table(const std::vector<const option*>& known,
                                              const node& table, std::string_view title,
                                              const std::string& file, layer where, remarks& out);

/// The defaults of `known`.
[[nodiscard]] std::vector<setting> default_settings(const std::vector<const option*>& known);

/// The values of `known` in the environment or the flags.
[[nodiscard]] std::vector<setting> named_settings(
    const std::vector<const option*>& known, layer where,
    const std::map<std::string, std::string, std::less<>>& texts, remarks& out);

/// Assigns the values to `target`. Skips settings of other tables.
template <class Target>
void apply(std::span<const row<Target>> rows, const std::vector<setting>& list, Target& target) {
  for (const auto& s : list) {
    for (const auto& r : rows) {
      if (&r.spec == s.spec) r.assign(target, s.value);
    }
  }
}

}  // namespace onceguard::config
