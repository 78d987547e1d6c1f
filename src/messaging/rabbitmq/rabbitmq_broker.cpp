#include "messaging/rabbitmq/rabbitmq_broker.hpp"

#include <array>

#include "messaging/broker_adapter.hpp"
#include "messaging/rabbitmq/amqp_url.hpp"

namespace onceguard::messaging::rabbitmq {
namespace {

constexpr std::array<std::string_view, 2> schemes{"amqp", "amqps"};
constexpr broker_kind kind{
    schemes,         consumer_example, publisher_example, url_fault_by<read_address>,
    open_consumer,   open_publisher,   examine_queue,     files_fault_by<read_address>,
    "librabbitmq.so"};

}  // namespace

ONCEGUARD_BROKER(rabbitmq, kind);

}  // namespace onceguard::messaging::rabbitmq
