// Publishes to a stream of Redis.
#pragma once
#include <onceguard/broker.hpp>

#include "messaging/redis_streams/stream_connection.hpp"
#include "messaging/redis_streams/stream_url.hpp"

namespace onceguard::messaging::redis_streams {

/// A batch is one transaction: all of it is stored, or nothing. The first message makes a stream
/// that there is not yet.
///
/// What the server confirms it has stored as its persistence has it: with `appendonly yes` and
/// `appendfsync always` it survives each crash; with `appendfsync everysec`, the usual setting, a
/// crash of the machine may lose the last second; without a file a restart loses all.
class stream_publisher final : public publisher {
 public:
  /// Connects. Throws `failed`.
  stream_publisher(const stream_settings& settings, const broker_params& params);

  [[nodiscard]] result<void> publish(std::span<const message> batch) override;

 private:
  [[nodiscard]] command addition_of(const message& sent) const;
  void send(std::span<const message> batch);

  const stream_settings settings_;
  connection connection_;
};

}  // namespace onceguard::messaging::redis_streams
