#include "messaging/kafka/kafka_url.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/url.hpp"
#include "messaging/broker_url.hpp"
#include "messaging/failed_call.hpp"

namespace onceguard::messaging::kafka {
namespace {

constexpr std::uint16_t default_port = 9'092;
constexpr std::string_view tls_scheme = "kafka+ssl";
constexpr std::size_t longest_topic = 249;
constexpr milliseconds shortest_hold{1'000};
constexpr milliseconds longest_hold{std::chrono::minutes(30)};

/// The first four are the publisher's too.
constexpr std::array<std::string_view, 8> known_parameters{
    "ca", "certificate", "key", "sasl", "group", "hold", "start", "dead_letters"};
constexpr std::size_t common_parameters = 4;

[[noreturn]] void refuse_url(const std::string& fault) {
  throw failed{error(errc::invalid_argument, "the broker's URL: " + fault)};
}

broker_url parsed(const std::string& text, broker_role role) {
  const std::span<const std::string_view> all(known_parameters);
  const bool consumes = role == broker_role::consumer;
  const broker_url_form form{default_port, 1, 1, consumes ? all : all.first(common_parameters),
                             consumes ? consumer_example : publisher_example};
  auto out = parse_broker_url(text, form);
  if (!out) throw failed{out.error()};
  return *std::move(out);
}

std::string address_of(const broker_url& url) {
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

std::string text_of(const broker_url& url, std::string_view name, std::string otherwise = {}) {
  const auto* const value = url.parameter(name);
  if (value == nullptr) return otherwise;
  if (value->empty()) refuse_url("the parameter " + std::string(name) + " is empty");
  return *value;
}

std::string topic_of(std::string name, std::string_view where) {
  if (!is_topic(name)) {
    refuse_url(std::string(where) + " has letters, digits, dots, - and _, at most 249 of them");
  }
  return name;
}

void read_security(kafka_url& out, const broker_url& url) {
  out.tls = url.scheme == tls_scheme;
  out.login = url.login;
  out.ca = text_of(url, "ca");
  out.certificate = text_of(url, "certificate");
  out.key = text_of(url, "key");
  if (!out.tls && !(out.ca + out.certificate + out.key).empty()) {
    refuse_url("ca, certificate and key are of TLS: kafka+ssl://");
  }
  if (out.certificate.empty() != out.key.empty()) {
    refuse_url("a certificate needs its key, and a key its certificate");
  }
  const auto mechanism = text_of(url, "sasl", "plain");
  if (url.parameter("sasl") != nullptr && !out.login) refuse_url("sasl needs user:password@");
  if (mechanism == "plain") {
    out.mechanism = "PLAIN";
  } else if (mechanism == "scram-sha-256") {
    out.mechanism = "SCRAM-SHA-256";
  } else if (mechanism == "scram-sha-512") {
    out.mechanism = "SCRAM-SHA-512";
  } else {
    refuse_url("the parameter sasl takes plain, scram-sha-256 or scram-sha-512");
  }
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
  const auto hold = duration_of(url, "hold", out.hold);
  if (!hold) throw failed{hold.error()};
  if (*hold < shortest_hold || *hold > longest_hold) {
    refuse_url("the parameter hold takes 1s to 30m");
  }
  out.hold = *hold;
}

kafka_url kafka_url_of(std::string_view text, broker_role role) {
  const auto urls = urls_of_servers(text);
  const auto first = parsed(urls.front(), role);
  kafka_url out;
  out.scheme = first.scheme;
  out.servers = address_of(first);
  for (std::size_t i = 1; i < urls.size(); ++i) {
    out.servers += ',' + address_of(parsed(urls[i], role));
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

std::string url_fault(std::string_view url, broker_role role) {
  const auto read = read_kafka_url(url, role);
  return read ? std::string() : read.error().detail;
}

}  // namespace onceguard::messaging::kafka
