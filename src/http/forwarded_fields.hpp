// Decides which header fields are forwarded, and which fields a proxy adds.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/policy.hpp>

#include "base/field.hpp"

namespace onceguard::http {

// Names are compared with `_` equal to `-` wherever a field is removed, replaced or interpreted:
// many applications see one variable for both.

/// Whether the field concerns a single connection (RFC 9110 section 7.6.1). The names in the
/// message's Connection field are not included.
[[nodiscard]] bool is_hop_by_hop(std::string_view name) noexcept;

/// Whether only Onceguard may set this header field.
[[nodiscard]] bool is_reserved_field(std::string_view name) noexcept;

/// Whether the field of an upstream's answer goes no further: the mark of a replay, which only
/// Onceguard sets, and what the service tells Onceguard of the outcome.
[[nodiscard]] bool ends_here(std::string_view name) noexcept;
/// In which a service says what became of the operation: `done`, `none` or `unknown`.
inline constexpr std::string_view outcome_field = "Onceguard-Outcome";

/// The limit for names listed by Connection: more than the fields of any message.
inline constexpr std::size_t connection_names_max = 100;
/// Whether Connection lists more names than the limit.
[[nodiscard]] bool lists_too_many(std::span<const base::field> fields);

/// Selects the fields of a message that are forwarded. Removes hop-by-hop fields, fields that
/// Connection lists, and the framing, which is always written anew. From a request it also removes
/// the fields that only Onceguard sets, and fields that an application could take for a field that
/// Onceguard interprets. Fields that identify the caller or carry the key stay even if Connection
/// lists them.
class travel_filter {
 public:
  /// For an answer.
  explicit travel_filter(std::span<const base::field> fields);
  /// For a request on a route with this policy, which must outlive the filter.
  travel_filter(std::span<const base::field> fields, const route_policy& policy);
  [[nodiscard]] bool travels(std::string_view name) const noexcept;

 private:
  [[nodiscard]] bool relied_on(std::string_view name) const noexcept;
  [[nodiscard]] bool misspelt(std::string_view name) const noexcept;

  const route_policy* policy_ = nullptr;  // null for an answer
  std::vector<std::string_view> listed_;  // nearly always empty
};

/// A block of addresses: "10.0.0.0/8", "::1".
class address_block {
 public:
  /// False if the text is no address or block.
  [[nodiscard]] static bool parse(std::string_view text, address_block& out);
  [[nodiscard]] bool contains(std::string_view address) const;

 private:
  unsigned char bytes_[16] = {};
  int bits_ = 0;
};

/// The client of a request that may have come through listed proxies.
struct client_origin {
  std::string address;        ///< without the port; empty: a listed proxy does not know the address
  bool from_trusted = false;  ///< the peer itself is a listed proxy
};
[[nodiscard]] client_origin find_origin(std::string_view peer, std::span<const base::field> fields,
                                        std::span<const address_block> trusted);

/// The X-Forwarded-* and Forwarded values for the upstream. Values from a listed proxy are
/// extended, values from all other peers are replaced.
struct forwarded_fields {
  std::string forwarded_for;
  std::string proto;
  std::string host;
  std::string forwarded;  ///< RFC 7239
};
[[nodiscard]] forwarded_fields make_forwarded(std::string_view peer, bool from_trusted,
                                              std::span<const base::field> fields,
                                              bool secure = false);
[[nodiscard]] bool is_forwarded_field(std::string_view name) noexcept;

/// Whether a trailer may have this name. Excludes fields for framing, routing, authentication or
/// changes of the message (RFC 9110 section 6.5.1): some recipients merge trailers into the head.
[[nodiscard]] bool may_trail(std::string_view name) noexcept;
/// Whether an answer with these fields is a stream of events (`text/event-stream`), which has no
/// end of its own.
[[nodiscard]] bool is_event_stream(std::span<const base::field> fields) noexcept;
/// Whether TE accepts trailers.
[[nodiscard]] bool welcomes_trailers(std::span<const base::field> fields) noexcept;

}  // namespace onceguard::http
