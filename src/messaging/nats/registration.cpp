// Makes the broker known to open_consumer and open_publisher, in programs that link its component.
#include <array>

#include "messaging/broker_kind.hpp"
#include "messaging/nats/nats_consumer.hpp"
#include "messaging/nats/nats_publisher.hpp"
#include "messaging/nats/nats_url.hpp"

// The linker takes this file in by the name (cmake/rooms.cmake).
extern "C" {
extern const char onceguard_nats_registration;
const char onceguard_nats_registration = 1;
}

namespace onceguard::messaging::nats {
namespace {

constexpr std::array<std::string_view, 2> schemes{"nats", "nats+tls"};

std::string nats_url_fault(std::string_view url, broker_role role) {
  const auto parsed = read_nats_url(url, role);
  return parsed ? std::string{} : parsed.error().detail;
}

std::string nats_files_fault(std::string_view url, broker_role role) {
  const auto parsed = read_nats_url(url, role);
  return parsed ? parsed->files_fault() : std::string{};
}

const broker_kind nats_kind{schemes,
                            consumer_example,
                            publisher_example,
                            nats_url_fault,
                            open_nats_consumer,
                            open_nats_publisher,
                            examine_nats_queue,
                            nats_files_fault};
const broker_registration registration(nats_kind);

}  // namespace
}  // namespace onceguard::messaging::nats
