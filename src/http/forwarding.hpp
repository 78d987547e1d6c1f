// Which header fields travel, and what a proxy adds to them.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"

namespace onceguard::http {

/// Does the field concern one connection only (RFC 9110 section 7.6.1)? The names that the
/// message's own Connection field lists come on top.
[[nodiscard]] bool is_hop_by_hop(std::string_view name) noexcept;

/// The fields of one message that must not travel: hop-by-hop, those that Connection lists, and
/// the framing, which is always written anew.
class travel_filter {
 public:
  explicit travel_filter(std::span<const base::field> fields);
  [[nodiscard]] bool travels(std::string_view name) const noexcept;

 private:
  std::string_view listed_[8];
  std::size_t listed_count_ = 0;
  bool lists_too_many_ = false;  // then nothing but the well-known travels
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
  std::string address;        ///< without the port
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

}  // namespace onceguard::http
