// What is to be said about a configuration, and where its values came from.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace onceguard::config {

/// Where a value may come from; the later wins, and a route's own options come last.
enum class layer : std::uint8_t { fallback, file, environment, flag, route };

/// The place that a value came from.
struct origin {
  layer where = layer::fallback;
  std::string name;  ///< of the file, the environment variable or the flag
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  /// "onceguard.toml:3:9", "ONCEGUARD_LEASE", "--lease"; empty for a default.
  [[nodiscard]] std::string text() const;
  /// Is it the option of one route, rather than of all?
  [[nodiscard]] bool of_route() const noexcept { return where == layer::route; }
  friend auto operator<=>(const origin&, const origin&) = default;
};

/// One line for a person.
struct remark {
  enum class grade : std::uint8_t {
    fault,    ///< the configuration is refused
    warning,  ///< a promise is weaker than one may think; logged when the gateway starts
    note,     ///< worth knowing; `onceguard check` says it
  };
  grade weight = grade::fault;
  origin at;
  std::string what;

  /// "onceguard.toml:3:9: [gateway] listen: expected …".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const remark&, const remark&) = default;
};
using remarks = std::vector<remark>;

/// By file position first, then environment, then flags; equal ones once.
void put_in_order(remarks& list);

}  // namespace onceguard::config
