#include "messaging/nats/nats_broker.hpp"

#include <array>

#include "messaging/broker_adapter.hpp"
#include "messaging/nats/nats_url.hpp"

namespace onceguard::messaging::nats {
namespace {

constexpr std::array<std::string_view, 2> schemes{"nats", "nats+tls"};
constexpr broker_kind kind{
    schemes,       consumer_example, publisher_example, url_fault_by<read_nats_url>,
    open_consumer, open_publisher,   examine_queue,     files_fault_by<read_nats_url>,
    "libnats.so"};

}  // namespace

ONCEGUARD_BROKER(nats, kind);

}  // namespace onceguard::messaging::nats
