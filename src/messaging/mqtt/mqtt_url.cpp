#include "messaging/mqtt/mqtt_url.hpp"

#include <array>
#include <unistd.h>

#include "base/url.hpp"
#include "base/value_text.hpp"
#include "messaging/failed_call.hpp"
#include "messaging/mqtt/packet_bytes.hpp"

namespace onceguard::messaging::mqtt {
namespace {

constexpr std::uint16_t plain_port = 1883;
constexpr std::uint16_t tls_port = 8883;
constexpr std::size_t most_levels = 1'000;
constexpr auto consumer_parameters = with_tls(std::array<std::string_view, 9>{
    "client_id", "group", "session_expiry", "keep_alive", "create", "ca", "cert", "key", "verify"});
constexpr auto publisher_parameters =
    with_tls(std::array<std::string_view, 5>{"client_id", "ca", "cert", "key", "verify"});

constexpr milliseconds default_session_expiry{std::chrono::hours(7 * 24)};
constexpr milliseconds longest_session_expiry{std::chrono::seconds(0xffff'fffe)};
/// The server closes the connection of a client from which nothing came for one and a half times as
/// long, and only calls of the consumer send something. So it decides how long the consumer's
/// thread may work without a call.
constexpr milliseconds default_keep_alive{300'000};
constexpr milliseconds longest_keep_alive{65'535'000};  // 16 bits of seconds

std::string text_parameter(const broker_url& url, std::string_view name) {
  auto value = text_of(url, name);
  if (!is_mqtt_text(value)) {
    refuse_url("the parameter " + std::string(name) + " is no UTF-8 of at most 65535 bytes");
  }
  return value;
}

std::chrono::seconds seconds_parameter(const broker_url& url, std::string_view name,
                                       milliseconds usual, milliseconds longest) {
  const auto value = duration_of(url, name, usual);
  if (value > longest) {
    refuse_url("the parameter " + std::string(name) + " is longer than " +
               base::duration_text(longest));
  }
  return std::chrono::ceil<std::chrono::seconds>(value);
}

/// The client id, with the name of this machine in the place of `{host}`.
std::string client_id_of(const broker_url& url) {
  constexpr std::string_view mark = "{host}";
  auto out = text_parameter(url, "client_id");
  if (const auto position = out.find(mark); position != out.npos) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    out.replace(position, mark.size(), host.data());
  }
  return out;
}

/// Wildcards are whole levels, and # is the last one (section 4.7.1).
void check_filter(std::string_view filter) {
  if (filter.starts_with("$share/")) {
    refuse_url("a shared subscription is asked for by the parameter group");
  }
  while (true) {
    const auto end = filter.find('/');
    const auto level = filter.substr(0, end);
    const bool wild = level.find_first_of("+#") != level.npos;
    if (wild && level.size() > 1) {
      refuse_url(base::quoted(level) + " is no level of a topic: + and # stand alone");
    }
    if (level == "#" && end != filter.npos) refuse_url("# is not the last level of the topic");
    if (end == filter.npos) return;
    filter.remove_prefix(end + 1);
  }
}

void read_topic(address& out, broker_role role) {
  for (const auto& segment : out.url.segments) {
    if (!out.topic.empty()) out.topic += '/';
    out.topic += segment;
  }
  if (!is_mqtt_text(out.topic)) refuse_url("the topic is no UTF-8 of at most 65535 bytes");
  if (role == broker_role::consumer) return check_filter(out.topic);
  if (out.topic.find_first_of("+#") != std::string::npos) {
    refuse_url("a publisher's topic has no + or #");
  }
}

void read_consumer(address& out) {
  if (out.client_id.empty()) {
    refuse_url("the parameter client_id is missing, by which the server keeps messages; expected " +
               std::string(consumer_example));
  }
  out.group = text_parameter(out.url, "group");
  if (out.group.find_first_of("/+#") != std::string::npos) {
    refuse_url("the group has a /, + or #");
  }
  if (out.filter().size() > longest_text) refuse_url("group and topic are longer than 65535 bytes");
  out.session_expiry =
      seconds_parameter(out.url, "session_expiry", default_session_expiry, longest_session_expiry);
  out.keep_alive = seconds_parameter(out.url, "keep_alive", default_keep_alive, longest_keep_alive);
  out.create = flag_of(out.url, "create", true);
}

address read_mqtt_address(std::string_view text, broker_role role) {
  const bool consumes = role == broker_role::consumer;
  const bool encrypted = base::scheme_of(text) == "mqtts";
  broker_url_form form;
  form.default_port = encrypted ? tls_port : plain_port;
  form.segments_max = most_levels;
  if (consumes) {
    form.parameters = consumer_parameters;
  } else {
    form.parameters = publisher_parameters;
  }
  form.example = consumes ? consumer_example : publisher_example;
  address out;
  out.url = value_of(parse_broker_url(text, form));
  if (out.url.login &&
      (!is_mqtt_text(out.url.login->first) || out.url.login->second.size() > longest_text)) {
    refuse_url("the user is no UTF-8, or the user or the password is longer than 65535 bytes");
  }
  read_topic(out, role);
  out.client_id = client_id_of(out.url);
  out.tls = read_tls(out.url, encrypted, true);
  if (consumes) read_consumer(out);
  return out;
}

}  // namespace

std::string address::filter() const {
  return group.empty() ? topic : "$share/" + group + '/' + topic;
}

result<address> read_address(std::string_view url, broker_role role) {
  return caught([&] { return read_mqtt_address(url, role); });
}

}  // namespace onceguard::messaging::mqtt
