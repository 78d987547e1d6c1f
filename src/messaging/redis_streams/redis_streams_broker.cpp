#include <array>

#include "messaging/broker_adapter.hpp"
#include "messaging/redis_streams/stream_consumer.hpp"
#include "messaging/redis_streams/stream_publisher.hpp"

namespace onceguard::messaging::redis_streams {
namespace {

constexpr std::array<std::string_view, 6> schemes{"redis",  "redis+sentinel",  "redis+cluster",
                                                  "rediss", "rediss+sentinel", "rediss+cluster"};
constexpr broker_kind kind{schemes,
                           consumer_example,
                           publisher_example,
                           url_fault_by<read_settings>,
                           open_by<read_settings, stream_consumer>,
                           open_by<read_settings, stream_publisher>,
                           nullptr,
                           files_fault_by<read_settings>,
                           "libhiredis.so"};

}  // namespace

ONCEGUARD_BROKER(redis_streams, kind);

}  // namespace onceguard::messaging::redis_streams
