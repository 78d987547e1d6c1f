// Makes Amazon SQS known to open_consumer and open_publisher, in programs that link its component.
#include <array>

#include "messaging/broker_kind.hpp"
#include "messaging/sqs/failure.hpp"
#include "messaging/sqs/sqs_consumer.hpp"
#include "messaging/sqs/sqs_publisher.hpp"

// The linker takes this file in by the name (cmake/rooms.cmake).
extern "C" {
extern const char onceguard_sqs_registration;
const char onceguard_sqs_registration = 1;
}

namespace onceguard::messaging::sqs {
namespace {

constexpr std::array<std::string_view, 1> schemes{"sqs"};

result<std::unique_ptr<consumer>> open_sqs_consumer(const broker_params& params) {
  const auto url = read_sqs_url(params.url, broker_role::consumer);
  if (!url) return url.error();
  return caught(
      [&]() -> std::unique_ptr<consumer> { return std::make_unique<sqs_consumer>(*url, params); });
}

result<std::unique_ptr<publisher>> open_sqs_publisher(const broker_params& params) {
  const auto url = read_sqs_url(params.url, broker_role::publisher);
  if (!url) return url.error();
  return caught([&]() -> std::unique_ptr<publisher> {
    return std::make_unique<sqs_publisher>(*url, params);
  });
}

result<queue_report> examine(const broker_params& params) {
  const auto url = read_sqs_url(params.url, broker_role::consumer);
  if (!url) return url.error();
  return caught([&] { return examine_sqs_queue(*url, params); });
}

constexpr broker_kind kind{schemes,   consumer_example,  publisher_example,
                           url_fault, open_sqs_consumer, open_sqs_publisher,
                           examine};
const broker_registration registration(kind);

}  // namespace
}  // namespace onceguard::messaging::sqs
