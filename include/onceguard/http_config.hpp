// The routes of a middleware from a file: the tables [defaults] and [[route]] of the gateway's
// configuration (docs/reference.md), with the same names, defaults, units and checks.
//
//   onceguard::http::middleware_params params;
//   params.routes = onceguard::http::read_routes("payments.toml").value().routes;
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/http_message.hpp>

namespace onceguard::http {
inline namespace v1 {

/// What a file comes to.
struct route_config {
  /// One of them fits every request: that of [defaults], unless the file has one for all paths.
  std::vector<route> routes;
  /// What promises less than it may seem to, a line each: "payments.toml:3:9: warning: …".
  std::vector<std::string> warnings;
};

/// Reads a file of up to 1 MiB; blocks. errc::invalid_argument: all that is wrong, a line each,
/// with file, line, column, table and option. Options of the gateway alone (`upstream`, `probe`,
/// [store] …) are wrong, too. Thread-safe.
[[nodiscard]] result<route_config> read_routes(const std::string& path);
/// The same with the text of the file, and its name for messages.
[[nodiscard]] result<route_config> parse_routes(std::string_view text,
                                                const std::string& name = "routes.toml");

}  // namespace v1
}  // namespace onceguard::http
