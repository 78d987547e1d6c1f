// Makes streams of Redis known to open_consumer and open_publisher, in programs that link their
// component.
#include <array>

#include "messaging/broker_kind.hpp"
#include "messaging/redis_streams/consumer.hpp"
#include "messaging/redis_streams/publisher.hpp"

// The linker takes this file in by the name (cmake/rooms.cmake).
extern "C" {
extern const char onceguard_redis_streams_registration;
const char onceguard_redis_streams_registration = 1;
}

namespace onceguard::messaging::redis_streams {
namespace {

constexpr std::array<std::string_view, 6> schemes{"redis",  "redis+sentinel",  "redis+cluster",
                                                  "rediss", "rediss+sentinel", "rediss+cluster"};

result<std::unique_ptr<consumer>> open_stream_consumer(const broker_params& params) {
  const auto settings = read_consumer_url(params.url);
  if (!settings) return settings.error();
  return caught([&]() -> std::unique_ptr<consumer> {
    return std::make_unique<stream_consumer>(*settings, params);
  });
}

result<std::unique_ptr<publisher>> open_stream_publisher(const broker_params& params) {
  const auto settings = read_publisher_url(params.url);
  if (!settings) return settings.error();
  return caught([&]() -> std::unique_ptr<publisher> {
    return std::make_unique<stream_publisher>(*settings, params);
  });
}

constexpr broker_kind kind{schemes,   consumer_example,     publisher_example,
                           url_fault, open_stream_consumer, open_stream_publisher,
                           nullptr,   url_files_fault};
const broker_registration registration(kind);

}  // namespace
}  // namespace onceguard::messaging::redis_streams
