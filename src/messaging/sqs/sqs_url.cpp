#include "messaging/sqs/sqs_url.hpp"

#include <algorithm>
#include <array>

#include "base/url.hpp"
#include "messaging/broker_url.hpp"
#include "messaging/sqs/failure.hpp"

namespace onceguard::messaging::sqs {
namespace {

constexpr std::array<std::string_view, 2> known_parameters{"endpoint", "hold"};
constexpr std::size_t longest_queue_name = 80;

bool is_word(std::string_view text, std::string_view more) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [more](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           more.find(c) != more.npos;
  });
}

/// Requests go to its root: libcurl's signatures cover no other path reliably.
std::string endpoint_of(const std::string& given) {
  const auto parts = base::split_url(given);
  const bool good = (parts.scheme == "http" || parts.scheme == "https") && parts.authority &&
                    is_word(*parts.authority, "-.:[]_") &&
                    (parts.path.empty() || parts.path == "/") && !parts.query && !parts.fragment;
  if (!good) refuse_url("the parameter endpoint takes http://HOST:PORT or https://HOST[:PORT]");
  return std::string(parts.scheme) + "://" + std::string(*parts.authority);
}

std::string amazon_endpoint(const std::string& region) {
  return "https://sqs." + region +
         (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com");
}

sqs_url sqs_url_of(std::string_view text, broker_role role) {
  const broker_url_form form{0, 1, 1, known_parameters,
                             role == broker_role::consumer ? consumer_example : publisher_example};
  const auto parsed = value_of(parse_broker_url(text, form));
  if (parsed.login) {
    refuse_url("credentials come from the environment, the shared credentials file or the machine");
  }
  if (parsed.port != 0) refuse_url("a region has no port; another server is the endpoint");
  sqs_url out;
  out.region = parsed.host;
  out.queue = parsed.segments.front();
  if (!is_word(out.region, "-")) refuse_url("the region is no region");
  const auto stem = std::string_view(out.queue).substr(
      0, out.queue.size() - (out.is_fifo() ? std::string_view(".fifo").size() : 0));
  if (!is_word(stem, "-_") || out.queue.size() > longest_queue_name) {
    refuse_url("the queue's name has letters, digits, - and _, and .fifo at the end if it is one");
  }
  const auto* const endpoint = parsed.parameter("endpoint");
  out.endpoint = endpoint != nullptr ? endpoint_of(*endpoint) : amazon_endpoint(out.region);
  if (parsed.parameter("hold") != nullptr) {
    out.hold = duration_of(parsed, "hold", milliseconds(0));
    if (*out.hold % std::chrono::seconds(1) != milliseconds(0) || *out.hold > longest_hold) {
      refuse_url("the parameter hold takes whole seconds, at most 12h");
    }
  }
  return out;
}

}  // namespace

result<sqs_url> read_sqs_url(std::string_view text, broker_role role) {
  return caught([&] { return sqs_url_of(text, role); });
}

}  // namespace onceguard::messaging::sqs
