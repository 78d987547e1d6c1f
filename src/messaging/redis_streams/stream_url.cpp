#include "messaging/redis_streams/stream_url.hpp"

#include <array>

#include "base/number_in.hpp"
#include "base/url.hpp"
#include "messaging/redis_streams/failure.hpp"

namespace onceguard::messaging::redis_streams {
namespace {

constexpr std::uint16_t server_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;
constexpr auto consumer_parameters = with_tls(std::array<std::string_view, 6>{
    "sentinel_user", "sentinel_password", "group", "hold", "consumer", "create"});
constexpr auto publisher_parameters =
    with_tls(std::array<std::string_view, 3>{"sentinel_user", "sentinel_password", "max_length"});
constexpr milliseconds longest_hold{std::chrono::hours(24 * 365)};

void read_sentinel_login(stream_address& out) {
  const auto* const user = out.url.parameter("sentinel_user");
  const auto* const password = out.url.parameter("sentinel_password");
  if (user == nullptr && password == nullptr) return;
  if (out.servers != deployment::sentinel) {
    refuse_url("sentinel_user and sentinel_password are of redis+sentinel://");
  }
  if (password == nullptr) refuse_url("the parameter sentinel_user needs sentinel_password");
  out.sentinel_login.emplace(user == nullptr ? "default" : *user, *password);
}

stream_address read_stream_address(std::string_view text, broker_role role) {
  const auto scheme = base::scheme_of(text);
  stream_address out;
  if (scheme.ends_with("+sentinel")) out.servers = deployment::sentinel;
  if (scheme.ends_with("+cluster")) out.servers = deployment::cluster;
  const std::size_t parts = out.servers == deployment::sentinel ? 2 : 1;
  const bool consumes = role == broker_role::consumer;
  broker_url_form form{out.servers == deployment::sentinel ? sentinel_port : server_port, parts,
                       parts, publisher_parameters, publisher_example};
  if (consumes) {
    form.parameters = consumer_parameters;
    form.example = consumer_example;
  }
  const auto urls = out.servers == deployment::single ? std::vector<std::string>{std::string(text)}
                                                      : urls_of_servers(text);
  if (out.servers == deployment::single && urls_of_servers(text).size() > 1) {
    refuse_url("one server is meant here, not several; expected " + std::string(form.example));
  }
  for (const auto& one : urls) {
    auto url = value_of(parse_broker_url(one, form));
    out.seeds.push_back({url.host, url.port});
    if (out.seeds.size() == 1) out.url = std::move(url);
  }
  out.stream = out.url.segments.back();
  if (parts > 1) out.master = out.url.segments.front();
  out.tls = read_tls(out.url, scheme.starts_with("rediss"));
  read_sentinel_login(out);
  return out;
}

void read_consumer(stream_settings& out) {
  const auto& url = out.where.url;
  const auto* const group = url.parameter("group");
  if (group == nullptr || group->empty()) {
    refuse_url("the parameter group is missing; expected " + std::string(consumer_example));
  }
  out.group = *group;
  out.hold = duration_of(url, "hold", out.hold);
  if (out.hold > longest_hold) refuse_url("the parameter hold is longer than a year");
  if (out.hold < least_hold) refuse_url("the parameter hold is shorter than 100ms");
  out.consumer = text_of(url, "consumer");
  if (out.consumer.starts_with(reserved_prefix)) {
    refuse_url("names of consumers that begin with " + std::string(reserved_prefix) +
               " are reserved");
  }
  out.create = flag_of(url, "create", false);
}

void read_publisher(stream_settings& out) {
  const auto* const length = out.where.url.parameter("max_length");
  if (length == nullptr) return;
  out.max_length = base::number_in<std::uint64_t>(*length, 1, (1ull << 62) - 1);
  if (!out.max_length) refuse_url("the parameter max_length takes a number of entries");
}

}  // namespace

result<stream_settings> read_settings(std::string_view url, broker_role role) {
  return caught([&] {
    stream_settings out{read_stream_address(url, role)};
    if (role == broker_role::consumer) {
      read_consumer(out);
    } else {
      read_publisher(out);
    }
    return out;
  });
}

}  // namespace onceguard::messaging::redis_streams
