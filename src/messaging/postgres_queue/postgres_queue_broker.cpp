#include <array>

#include "messaging/broker_adapter.hpp"
#include "messaging/postgres_queue/queue_consumer.hpp"
#include "messaging/postgres_queue/queue_publisher.hpp"

namespace onceguard::messaging::postgres_queue {
namespace {

constexpr std::array<std::string_view, 2> schemes{"postgresql", "postgres"};

std::string fault_of(std::string_view url, broker_role role) {
  const auto parsed = parse_queue_url(url);
  if (!parsed) return parsed.error().detail;
  if (role == broker_role::publisher && parsed->dead) {
    return "the broker's URL: nobody publishes dead letters; leave out dead=yes";
  }
  if (role == broker_role::publisher && parsed->outbox) {
    return "the broker's URL: an outbox is published to in a transaction of the program's own";
  }
  return {};
}

constexpr broker_kind kind{schemes,  consumer_example,     publisher_example,
                           fault_of, queue_consumer::open, queue_publisher::open};

}  // namespace

ONCEGUARD_BROKER(postgres_queue, kind);

}  // namespace onceguard::messaging::postgres_queue
