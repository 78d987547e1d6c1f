#include <array>

#include "messaging/broker_adapter.hpp"
#include "messaging/postgres_queue/queue_consumer.hpp"
#include "messaging/postgres_queue/queue_publisher.hpp"

namespace onceguard::messaging::postgres_queue {
namespace {

constexpr std::array<std::string_view, 2> schemes{"postgresql", "postgres"};

result<queue_url> read_url(std::string_view url, broker_role role) {
  auto out = parse_queue_url(url);
  if (!out || role == broker_role::consumer) return out;
  if (out->dead) {
    return error(errc::invalid_argument,
                 "the broker's URL: nobody publishes dead letters; leave out dead=yes");
  }
  if (out->outbox) {
    return error(
        errc::invalid_argument,
        "the broker's URL: an outbox is published to in a transaction of the program's own");
  }
  return out;
}

constexpr broker_kind kind{schemes,
                           consumer_example,
                           publisher_example,
                           url_fault_by<read_url>,
                           open_by<read_url, queue_consumer>,
                           open_by<read_url, queue_publisher>,
                           nullptr,
                           nullptr,
                           "libpq.so"};

}  // namespace

ONCEGUARD_BROKER(postgres_queue, kind);

}  // namespace onceguard::messaging::postgres_queue
