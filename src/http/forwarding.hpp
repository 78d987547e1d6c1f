// Which header fields travel, and what a proxy adds to them.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/policy.hpp>

#include "base/field.hpp"

namespace onceguard::http {

// Names are compared with `_` for `-` wherever a field is removed, replaced or interpreted: to many
// applications both are one variable.

/// Does the field concern one connection only (RFC 9110 section 7.6.1)? The names that the
/// message's own Connection field lists come on top.
[[nodiscard]] bool is_hop_by_hop(std::string_view name) noexcept;

/// Is it one of the header fields that only Onceguard may set?
[[nodiscard]] bool is_reserved_field(std::string_view name) noexcept;

/// Could the field tell one caller from another?
[[nodiscard]] bool tells_callers_apart(std::string_view name) noexcept;

/// The mark of a replay, which only Onceguard sets: an upstream's own is dropped.
[[nodiscard]] bool is_replay_mark(std::string_view name) noexcept;

/// No message has so many fields.
inline constexpr std::size_t connection_names_max = 100;
/// Does Connection list more names than that?
[[nodiscard]] bool lists_too_many(std::span<const base::field> fields);

/// The fields of one message that must not travel: hop-by-hop, those that Connection lists, and
/// the framing, which is always written anew. Of a client's request neither those that only
/// Onceguard sets, nor what an application could take for a field that Onceguard interprets; and
/// whatever Connection lists, what says who the caller is and what the key is for stays.
class travel_filter {
 public:
  /// Of an answer.
  explicit travel_filter(std::span<const base::field> fields);
  /// Of a request on a route with this policy, which must outlive the filter.
  travel_filter(std::span<const base::field> fields, const route_policy& policy);
  [[nodiscard]] bool travels(std::string_view name) const noexcept;

 private:
  [[nodiscard]] bool relied_on(std::string_view name) const noexcept;
  [[nodiscard]] bool misspelt(std::string_view name) const noexcept;

  const route_policy* policy_ = nullptr;  // of a request
  std::vector<std::string_view> listed_;  // nearly always empty
};

/// An address block: "10.0.0.0/8", "::1".
class address_block {
 public:
  /// False where the text is no address or block.
  [[nodiscard]] static bool parse(std::string_view text, address_block& out);
  [[nodiscard]] bool contains(std::string_view address) const;

 private:
  unsigned char bytes_[16] = {};
  int bits_ = 0;
};

/// Who is asking, seen through the listed proxies.
struct client_origin {
  std::string address;        ///< without the port; empty: a listed proxy does not know it
  bool from_trusted = false;  ///< the peer itself is a listed proxy
};
[[nodiscard]] client_origin find_origin(std::string_view peer, std::span<const base::field> fields,
                                        std::span<const address_block> trusted);

/// The X-Forwarded-* and Forwarded values to send upstream; a listed proxy's own are extended,
/// anybody else's are replaced.
struct forwarded_fields {
  std::string forwarded_for;
  std::string proto;
  std::string host;
  std::string forwarded;  ///< RFC 7239
};
[[nodiscard]] forwarded_fields make_forwarded(std::string_view peer, bool from_trusted,
                                              std::span<const base::field> fields);
[[nodiscard]] bool is_forwarded_field(std::string_view name) noexcept;

/// May it be sent behind a body? Not what frames, routes, authenticates or changes a message
/// (RFC 9110 section 6.5.1): some recipients merge trailers into the head.
[[nodiscard]] bool may_trail(std::string_view name) noexcept;
/// Does TE say that trailers are welcome?
[[nodiscard]] bool welcomes_trailers(std::span<const base::field> fields) noexcept;

}  // namespace onceguard::http
