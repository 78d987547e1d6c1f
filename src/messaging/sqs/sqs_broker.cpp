#include <array>

#include "messaging/broker_adapter.hpp"
#include "messaging/sqs/sqs_consumer.hpp"
#include "messaging/sqs/sqs_publisher.hpp"

namespace onceguard::messaging::sqs {
namespace {

constexpr std::array<std::string_view, 1> schemes{"sqs"};
constexpr broker_kind kind{schemes,
                           consumer_example,
                           publisher_example,
                           url_fault_by<read_sqs_url>,
                           open_by<read_sqs_url, sqs_consumer>,
                           open_by<read_sqs_url, sqs_publisher>,
                           examine_sqs_queue,
                           nullptr,
                           "libcurl.so"};

}  // namespace

ONCEGUARD_BROKER(sqs, kind);

}  // namespace onceguard::messaging::sqs
