// The records behind the admin API of a gateway.
#pragma once
#include <cstdint>
#include <string>

#include <onceguard/store.hpp>

#include "base/address.hpp"

namespace onceguard::admin {

/// Where an admin listener is, and what opens it.
struct admin_target {
  base::server_address address;
  std::string token;  ///< empty: none
};

/// Whether find() asks for the bodies of answers. One that is too long for an answer of the gateway
/// is left out all the same: the record's `body_size` tells of it.
enum class answer_bodies : std::uint8_t { left_out, asked };

/// Each call is a request, which blocks its thread: for commands. A gateway that is out of reach is
/// errc::store_unreachable. A change is written into the audit log of the gateway, and waits for no
/// caches.
class remote_records final : public record_access {
 public:
  /// `reason`: for changes, which are refused without one.
  remote_records(admin_target target, answer_bodies bodies, std::string reason = {})
      : target_(std::move(target)), bodies_(bodies), reason_(std::move(reason)) {}

  boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                           milliseconds timeout) override;
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds timeout) override;
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override;
  boost::asio::awaitable<result<counts>> count(std::string cursor, milliseconds timeout) override;

 private:
  const admin_target target_;
  const answer_bodies bodies_;
  const std::string reason_;
};

}  // namespace onceguard::admin
