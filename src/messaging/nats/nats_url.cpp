#include "messaging/nats/nats_url.hpp"

#include <algorithm>

#include "base/value_text.hpp"

namespace onceguard::messaging::nats {
namespace {

constexpr std::uint16_t usual_port = 4222;

bool has_white(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; });
}

/// One part of a subject, as the names of streams and consumers are.
bool is_token(std::string_view text) {
  return !text.empty() && !has_white(text) && text.find_first_of(".*>/\\") == text.npos;
}

/// Without wildcards.
bool is_subject(std::string_view text) {
  while (true) {
    const auto dot = text.find('.');
    const auto token = text.substr(0, dot);
    if (token.empty() || has_white(token) || token == "*" || token == ">") return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

error wrong(std::string_view kind, std::string_view text) {
  return {errc::invalid_argument,
          "the broker's URL: " + base::quoted(text) + " is no " + std::string(kind)};
}

}  // namespace

result<broker_url> parse_consumer_url(std::string_view text) {
  auto url = parse_broker_url(text, {usual_port, 2, 2, {}, consumer_example});
  if (!url) return url;
  if (!is_token(url->segments[0])) return wrong("name of a stream", url->segments[0]);
  if (!is_token(url->segments[1])) return wrong("name of a consumer", url->segments[1]);
  return url;
}

result<broker_url> parse_publisher_url(std::string_view text) {
  auto url = parse_broker_url(text, {usual_port, 1, 1, {}, publisher_example});
  if (url && !is_subject(url->segments[0])) {
    return wrong("subject of a message", url->segments[0]);
  }
  return url;
}

}  // namespace onceguard::messaging::nats
