#include "messaging/rabbitmq/amqp_url.hpp"

#include <array>
#include <tuple>

#include "base/url.hpp"
#include "messaging/failed_call.hpp"
#include "messaging/rabbitmq/frames.hpp"

namespace onceguard::messaging::rabbitmq {
namespace {

constexpr std::uint16_t plain_port = 5672;
constexpr std::uint16_t tls_port = 5671;
constexpr auto consumer_parameters =
    with_tls(std::array<std::string_view, 4>{"sasl", "dead_letters", "heartbeat", "management"});
constexpr auto publisher_parameters =
    with_tls(std::array<std::string_view, 3>{"sasl", "exchange", "key"});

/// RabbitMQ closes the connection of a consumer from which nothing came for two to three
/// intervals, and only calls of the consumer send something. So the interval decides how long the
/// consumer's thread may work without a call: ten minutes. A process that dies is noticed at once
/// all the same, as its socket closes; a machine that dies is noticed after 10 to 15 minutes.
constexpr milliseconds default_heartbeat{300'000};
constexpr milliseconds longest_heartbeat{65'535'000};  // 16 bits of seconds

void check_name(std::string_view kind, const std::string& name) {
  if (name.size() <= longest_text) return;
  refuse_url("the name of the " + std::string(kind) + " is longer than 255 bytes");
}

void read_login(address& out) {
  const auto* const sasl = out.url.parameter("sasl");
  if (out.url.login) std::tie(out.user, out.password) = *out.url.login;
  if (sasl == nullptr || *sasl == "plain") return;
  if (*sasl != "external") refuse_url("the parameter sasl takes plain or external");
  if (!out.tls || out.tls->certificate.empty()) {
    refuse_url("sasl=external is a login by a certificate: amqps:// with tls_certificate");
  }
  if (out.url.login) refuse_url("sasl=external takes no user and password");
  out.external = true;
}

void read_consumer(address& out) {
  out.dead_letters = flag_of(out.url, "dead_letters", false);
  if (const auto* const management = out.url.parameter("management")) {
    if (!management->starts_with("http://") && !management->starts_with("https://")) {
      refuse_url("management takes the URL of the management API, such as http://host:15672");
    }
    out.management = *management;
    while (out.management.ends_with('/')) out.management.pop_back();
  }
  const auto heartbeat = duration_of(out.url, "heartbeat", default_heartbeat);
  if (heartbeat > longest_heartbeat) refuse_url("the heartbeat is longer than 65535 seconds");
  out.heartbeat = std::chrono::ceil<std::chrono::seconds>(heartbeat);
}

void read_publisher(address& out) {
  out.key = out.queue;
  if (const auto* const exchange = out.url.parameter("exchange")) out.exchange = *exchange;
  if (const auto* const key = out.url.parameter("key")) out.key = *key;
  check_name("exchange", out.exchange);
  check_name("routing key", out.key);
}

address read_amqp_address(std::string_view url, broker_role role) {
  const bool consumes = role == broker_role::consumer;
  const bool encrypted = base::scheme_of(url) == "amqps";
  broker_url_form form{encrypted ? tls_port : plain_port, 1, 2, consumer_parameters,
                       consumer_example};
  if (!consumes) {
    form.parameters = publisher_parameters;
    form.example = publisher_example;
  }
  address out;
  out.url = value_of(parse_broker_url(url, form));
  out.tls = read_tls(out.url, encrypted);
  read_login(out);
  out.queue = out.url.segments.back();
  if (out.url.segments.size() > 1) out.vhost = out.url.segments.front();
  check_name("virtual host", out.vhost);
  check_name("queue", out.queue);
  if (consumes) {
    read_consumer(out);
  } else {
    read_publisher(out);
  }
  return out;
}

}  // namespace

result<address> read_address(std::string_view url, broker_role role) {
  return caught([&] { return read_amqp_address(url, role); });
}

}  // namespace onceguard::messaging::rabbitmq
