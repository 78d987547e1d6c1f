#include "messaging/mqtt/mqtt_broker.hpp"

#include <array>

#include "messaging/broker_adapter.hpp"
#include "messaging/mqtt/mqtt_url.hpp"

namespace onceguard::messaging::mqtt {
namespace {

constexpr std::array<std::string_view, 2> schemes{"mqtt", "mqtts"};
constexpr broker_kind kind{
    schemes,       consumer_example, publisher_example, url_fault_by<read_address>,
    open_consumer, open_publisher,   nullptr,           files_fault_by<read_address>};

}  // namespace

ONCEGUARD_BROKER(mqtt, kind);

}  // namespace onceguard::messaging::mqtt
