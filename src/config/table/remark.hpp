// Faults, warnings and notes about a configuration, and where values come from.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace onceguard::config {

/// The sources of values. Later sources win; a route's options come last.
enum class layer : std::uint8_t { fallback, file, environment, flag, route };

/// Where a value comes from.
struct origin {
  layer where = layer::fallback;
  std::string name;  ///< of the file, the environment variable or the flag
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  /// "onceguard.toml:3:9", "ONCEGUARD_LEASE", "--lease"; empty for a default.
  [[nodiscard]] std::string text() const;
  /// Whether this is an option of a single route.
  [[nodiscard]] bool of_route() const noexcept { return where == layer::route; }
  friend auto operator<=>(const origin&, const origin&) = default;
};

/// A message for a person, on one line.
struct remark {
  enum class grade : std::uint8_t {
    fault,    ///< the configuration is refused
    warning,  ///< a promise is weaker than it may seem; logged when the gateway starts
    note,     ///< useful to know; shown by `onceguard check`
  };
  grade weight = grade::fault;
  origin position;
  std::string message;

  /// "onceguard.toml:3:9: [gateway] listen: expected …".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const remark&, const remark&) = default;
};
using remarks = std::vector<remark>;

/// Sorts by position in the file, then environment, then flags, and removes duplicates.
void put_in_order(remarks& list);

}  // namespace onceguard::config
