#include "messaging/redis_streams/settings.hpp"

#include <array>
#include <charconv>

#include "messaging/redis_streams/failure.hpp"

namespace onceguard::messaging::redis_streams {
namespace {

constexpr std::array<std::string_view, 4> consumer_parameters{"group", "hold", "consumer",
                                                              "create"};
constexpr std::array<std::string_view, 1> publisher_parameters{"max_length"};
constexpr broker_url_form consumer_form{6379, 1, 1, consumer_parameters, consumer_example};
constexpr broker_url_form publisher_form{6379, 1, 1, publisher_parameters, publisher_example};
constexpr milliseconds longest_hold{std::chrono::hours(24 * 365)};

[[noreturn]] void refuse_url(const std::string& fault) {
  throw failed{error(errc::invalid_argument, "the broker's URL: " + fault)};
}

template <class T>
T value_of(result<T> read) {
  if (!read) throw failed{read.error()};
  return *std::move(read);
}

consumer_settings consumer_settings_of(std::string_view text) {
  consumer_settings out;
  out.url = value_of(parse_broker_url(text, consumer_form));
  const auto* const group = out.url.parameter("group");
  if (group == nullptr || group->empty()) {
    refuse_url("the parameter group is missing; expected " + std::string(consumer_example));
  }
  out.group = *group;
  out.hold = value_of(duration_of(out.url, "hold", out.hold));
  if (out.hold > longest_hold) refuse_url("the parameter hold is longer than a year");
  if (const auto* const name = out.url.parameter("consumer")) {
    if (name->empty()) refuse_url("the parameter consumer is empty");
    if (name->starts_with(reserved_prefix)) {
      refuse_url("names of consumers that begin with " + std::string(reserved_prefix) +
                 " are reserved");
    }
    out.consumer = *name;
  }
  out.create = value_of(flag_of(out.url, "create", false));
  return out;
}

publisher_settings publisher_settings_of(std::string_view text) {
  publisher_settings out;
  out.url = value_of(parse_broker_url(text, publisher_form));
  if (const auto* const length = out.url.parameter("max_length")) {
    std::uint64_t most = 0;
    const auto* const end = length->data() + length->size();
    const auto read = std::from_chars(length->data(), end, most);
    const bool good = read.ec == std::errc() && read.ptr == end && most > 0 && most < 1ull << 62;
    if (!good) refuse_url("the parameter max_length takes a number of entries");
    out.max_length = most;
  }
  return out;
}

}  // namespace

result<consumer_settings> read_consumer_url(std::string_view text) {
  return caught([&] { return consumer_settings_of(text); });
}

result<publisher_settings> read_publisher_url(std::string_view text) {
  return caught([&] { return publisher_settings_of(text); });
}

std::string url_fault(std::string_view url, broker_role role) {
  if (role == broker_role::consumer) {
    const auto read = read_consumer_url(url);
    return read ? std::string() : read.error().detail;
  }
  const auto read = read_publisher_url(url);
  return read ? std::string() : read.error().detail;
}

}  // namespace onceguard::messaging::redis_streams
