#include "messaging/kafka/kafka_url.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/url.hpp"
#include "messaging/broker_url.hpp"
#include "messaging/failed_call.hpp"
#include "messaging/kafka/bearer_token.hpp"

namespace onceguard::messaging::kafka {
namespace {

constexpr std::uint16_t default_port = 9'092;
constexpr std::string_view tls_scheme = "kafka+ssl";
constexpr std::size_t longest_topic = 249;
constexpr milliseconds shortest_hold{1'000};
constexpr milliseconds longest_hold{std::chrono::minutes(30)};

/// The publisher's stand first. librdkafka compares the name of the host alone: there is no
/// tls_name.
constexpr std::array<std::string_view, 12> known_parameters{
    "tls_ca", "tls_certificate", "tls_key", "ca",   "certificate", "key",
    "sasl",   "token_file",      "group",   "hold", "start",       "dead_letters"};
constexpr std::size_t common_parameters = 8;

broker_url parsed(const std::string& text, broker_role role) {
  const std::span<const std::string_view> all(known_parameters);
  const bool consumes = role == broker_role::consumer;
  const broker_url_form form{default_port, 1, 1, consumes ? all : all.first(common_parameters),
                             consumes ? consumer_example : publisher_example};
  return value_of(parse_broker_url(text, form));
}

std::string kafka_address(const broker_url& url) {
  const bool v6 = url.host.find(':') != std::string::npos;
  return (v6 ? '[' + url.host + ']' : url.host) + ':' + std::to_string(url.port);
}

bool is_topic(std::string_view name) {
  const auto known = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= longest_topic && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), known);
}

std::string topic_of(std::string name, std::string_view where) {
  if (!is_topic(name)) {
    refuse_url(std::string(where) + " has letters, digits, dots, - and _, at most 249 of them");
  }
  return name;
}

void read_sasl(kafka_url& out, const broker_url& url) {
  struct mechanism {
    std::string_view word;
    std::string_view name;
  };
  constexpr std::array<mechanism, 4> all{{{"plain", "PLAIN"},
                                          {"scram-sha-256", "SCRAM-SHA-256"},
                                          {"scram-sha-512", "SCRAM-SHA-512"},
                                          {"oauthbearer", "OAUTHBEARER"}}};
  const auto* const choice = url.parameter("sasl");
  out.token_file = text_of(url, "token_file");
  if (choice == nullptr && !out.login && out.token_file.empty()) return;
  const auto word = text_of(url, "sasl", out.token_file.empty() ? "plain" : "oauthbearer");
  const auto* const found =
      std::find_if(all.begin(), all.end(), [&](const mechanism& one) { return one.word == word; });
  if (found == all.end()) {
    refuse_url("the parameter sasl takes plain, scram-sha-256, scram-sha-512 or oauthbearer");
  }
  out.mechanism = found->name;
  const bool bearer = word == "oauthbearer";
  if (bearer && (out.login || out.token_file.empty())) {
    refuse_url("sasl=oauthbearer is a login by token_file=FILE, without user and password");
  }
  if (!bearer && !out.token_file.empty()) refuse_url("token_file is of sasl=oauthbearer");
  if (!bearer && !out.login) refuse_url("sasl needs user:password@");
}

void read_security(kafka_url& out, const broker_url& url) {
  out.tls = read_tls(url, url.scheme == tls_scheme, true);
  out.login = url.login;
  read_sasl(out, url);
}

void read_group(kafka_url& out, const broker_url& url) {
  out.group = text_of(url, "group");
  if (out.group.empty()) {
    refuse_url("a consumer needs a group; expected " + std::string(consumer_example));
  }
  out.start = text_of(url, "start", "earliest");
  if (out.start != "earliest" && out.start != "latest") {
    refuse_url("the parameter start takes earliest or latest");
  }
  if (url.parameter("dead_letters") != nullptr) {
    out.dead_letters = topic_of(text_of(url, "dead_letters"), "the topic of dead_letters");
    if (out.dead_letters == out.topic) refuse_url("dead_letters takes another topic");
  }
  out.hold = duration_of(url, "hold", out.hold);
  if (out.hold < shortest_hold || out.hold > longest_hold) {
    refuse_url("the parameter hold takes 1s to 30m");
  }
}

kafka_url kafka_url_of(std::string_view text, broker_role role) {
  const auto urls = urls_of_servers(text);
  const auto first = parsed(urls.front(), role);
  kafka_url out;
  out.scheme = first.scheme;
  out.servers = kafka_address(first);
  for (std::size_t i = 1; i < urls.size(); ++i) {
    out.servers += ',' + kafka_address(parsed(urls[i], role));
  }
  out.topic = topic_of(first.segments.front(), "the topic");
  read_security(out, first);
  if (role == broker_role::consumer) read_group(out, first);
  return out;
}

}  // namespace

result<kafka_url> read_kafka_url(std::string_view text, broker_role role) {
  return caught([&] { return kafka_url_of(text, role); });
}

std::string kafka_url::files_fault() const {
  auto fault = messaging::files_fault(tls);
  if (!fault.empty() || token_file.empty()) return fault;
  const auto read = read_token_file(token_file);
  return read ? fault : read.error().detail;
}

}  // namespace onceguard::messaging::kafka
