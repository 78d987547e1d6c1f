// What the admin listener serves: a resource for each method and path.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <nlohmann/json_fwd.hpp>

namespace onceguard::admin {

/// What a caller may do, and what a resource needs. Each includes those before it.
enum class access : std::uint8_t {
  open,  ///< without a token
  view,  ///< the role "viewer"
  act,   ///< the role "operator"
};

struct caller {
  access granted = access::open;
  std::string name;  ///< for the audit log: the name behind the token, or the role
};

struct request {
  std::string_view method;
  std::string path;                                        ///< decoded, without the query
  std::vector<std::string> segments;                       ///< of the path, each decoded by itself
  std::vector<std::pair<std::string, std::string>> query;  ///< decoded, in their order
  std::string body;
  caller sender;
  bool takes_gzip = false;
  std::string sign_in;  ///< the value of the cookie of the page; empty: none
  std::string segment;  ///< what stands in the path for the `{…}` of the resource's pattern

  /// The first parameter with that name; empty: none.
  [[nodiscard]] std::string_view parameter(std::string_view name) const noexcept;
};

struct response {
  std::uint16_t status = 200;
  std::string body;
  std::string type = "application/json";
  std::string fields{};  ///< more lines of the head, with their line ends
  /// What it holds until the client has it; null: nothing.
  std::shared_ptr<void> held{};
};

/// An error as application/problem+json (RFC 9457).
[[nodiscard]] response refusal(std::uint16_t status, std::string_view detail);
/// With further members, for programs.
[[nodiscard]] response refusal(std::uint16_t status, std::string_view detail,
                               const nlohmann::ordered_json& members);

using handler = std::function<boost::asio::awaitable<response>(const request&)>;

struct resource {
  std::string_view method;
  /// One segment may be a parameter: "/api/records/{record}/release".
  std::string_view pattern;
  access needed = access::view;
  handler handle;
};
using resources = std::vector<resource>;

/// Splits a target in origin form, and decodes it. False: it is not well formed.
[[nodiscard]] bool read_target(std::string_view target, request& out);

/// The resource for a method and path; fills in `request::segment`.
struct match {
  const resource* found = nullptr;  ///< null: see `allowed`
  std::string allowed;              ///< methods of the path, for 405; empty: no such path
};
[[nodiscard]] match find_resource(const resources& all, request& request);

}  // namespace onceguard::admin
