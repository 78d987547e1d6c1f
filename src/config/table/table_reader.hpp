// Reads one TOML table according to its part of the table of options.
#pragma once
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/table/document.hpp"
#include "config/table/option.hpp"

namespace onceguard::config {

/// The tables that only the gateway has …
inline constexpr std::array<std::string_view, 11> gateway_tables{
    "gateway", "store",   "jwt",   "reconcile", "log",   "upstream",
    "webhook", "consume", "relay", "serve",     "policy"};
/// … and those that a service may have too.
inline constexpr std::array<std::string_view, 2> route_tables{"defaults", "route"};

/// A configuration that is read.
struct reading {
  std::string file;
  front_door door = front_door::gateway;
  /// The title of the table that has an option of this name; empty: none has.
  std::string_view (*home_of)(std::string_view name) = nullptr;

  /// It has a [serve], whose clients are services that call the library's engine from afar.
  bool serves = false;

  [[nodiscard]] bool knows(const option& spec) const noexcept {
    return !spec.only || *spec.only == door || (serves && *spec.only == front_door::service);
  }
};

/// Reports what stands in the document and in none of these tables.
void check_table_names(const reading& source, const node& document,
                       std::span<const std::string_view> tables, remarks& out);

/// The table with that name, or the array of tables if `repeated`; null: it is absent, or a fault.
[[nodiscard]] const node* find_table(const reading& source, const node& document,
                                     std::string_view name, bool repeated, remarks& out);

/// The values in `table`. A name that `known` lacks is a fault with a suggestion.
[[nodiscard]] std::vector<setting> read_table(const reading& source,
                                              const std::vector<const option*>& known,
                                              const node& table, std::string_view title,
                                              layer where, remarks& out);

/// The defaults of `known`, without those of other front doors.
[[nodiscard]] std::vector<setting> default_settings(const reading& source,
                                                    const std::vector<const option*>& known);

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
