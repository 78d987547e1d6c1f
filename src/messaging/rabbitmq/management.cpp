#include "messaging/rabbitmq/management.hpp"

#include <algorithm>
#include <charconv>
#include <curl/curl.h>
#include <poll.h>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/json_reader.hpp"
#include "base/unique_handle.hpp"
#include "base/url.hpp"

namespace onceguard::messaging::rabbitmq {
namespace {

using nlohmann::json;

constexpr std::size_t largest_answer = std::size_t{4} << 20;
/// From release 4 on, of a quorum queue that has none by itself.
constexpr std::int64_t usual_limit = 20;

std::size_t append_management_answer(char* data, std::size_t, std::size_t size, void* target) {
  auto& body = *static_cast<std::string*>(target);
  if (body.size() + size > largest_answer) return 0;
  body.append(data, size);
  return size;
}

struct answer {
  long status = 0;
  std::string body;
  std::string fault;  ///< there is none
};

answer get(const address& where, const std::string& url, milliseconds timeout) {
  static const auto ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const base::unique_handle<CURL, curl_easy_cleanup> curl(ready == CURLE_OK ? curl_easy_init()
                                                                            : nullptr);
  answer out;
  if (!curl) {
    out.fault = "no memory for a request";
    return out;
  }
  const auto limit = static_cast<long>(std::max(timeout, milliseconds(1)).count());
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  // They would go before a login in the URL.
  if (base::split_url(url).authority.value_or("").find('@') == std::string_view::npos) {
    curl_easy_setopt(curl.get(), CURLOPT_USERNAME, where.user.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_PASSWORD, where.password.c_str());
  }
  curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, limit);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, append_management_answer);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &out.body);
  if (const auto code = curl_easy_perform(curl.get()); code != CURLE_OK) {
    out.fault = curl_easy_strerror(code);
  }
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &out.status);
  return out;
}

/// As RabbitMQ has it: the lower one, unless one of them is negative, which takes the limit away.
std::optional<std::int64_t> joined(std::optional<std::int64_t> one,
                                   std::optional<std::int64_t> other) {
  if (!one) return other;
  if (!other) return one;
  return *one < 0 || *other < 0 ? std::max(*one, *other) : std::min(*one, *other);
}

int major_of(std::string_view version) {
  int out = 0;
  std::from_chars(version.data(), version.data() + version.size(), out);
  return out;
}

}  // namespace

std::optional<queue_facts> facts_in(std::string_view answer, std::string_view version) {
  const auto queue = json::parse(answer, nullptr, false);
  const auto* const arguments = base::find_member(queue, "arguments");
  if (arguments == nullptr) return std::nullopt;
  queue_facts out;
  // It stands among the statistics, which are empty for a moment after the queue's begin.
  const auto* const policy = base::find_member(queue, "effective_policy_definition");
  if (policy == nullptr) {
    out.is_complete = false;
    return out;
  }
  out.has_dead_letters = base::find_member(*arguments, "x-dead-letter-exchange") != nullptr ||
                         base::find_member(*policy, "dead-letter-exchange") != nullptr;
  const auto is_quorum = [](const std::string& type) {
    return type == "quorum" || type == "rabbit_quorum_queue";
  };
  const bool counts = is_quorum(base::text_in(queue, "type")) ||
                      is_quorum(base::text_in(*arguments, "x-queue-type"));
  if (!counts) return out;  // a classic queue has no limit
  auto limit = joined(base::member<std::int64_t>(*arguments, "x-delivery-limit"),
                      base::member<std::int64_t>(*policy, "delivery-limit"));
  if (!limit && major_of(version) >= 4) limit = usual_limit;
  if (limit && *limit >= 0) out.redeliveries_max = static_cast<std::uint64_t>(*limit);
  return out;
}

namespace {

result<queue_facts> ask_once(const address& where, std::string_view version, milliseconds timeout) {
  const auto fault = [&](errc code, const std::string& why) {
    return error(code, where.url.name() + ": the management API: " + why);
  };
  const auto url = where.management + "/api/queues/" + base::percent_encoded(where.vhost) + '/' +
                   base::percent_encoded(where.queue);
  const auto got = get(where, url, timeout);
  if (!got.fault.empty()) return fault(errc::broker_unreachable, got.fault);
  if (got.status == 404) return fault(errc::not_found, "there is no such queue");
  if (got.status == 401 || got.status == 403) {
    return fault(errc::conflict, "it refuses the login; the user needs the tag management");
  }
  if (got.status >= 500) {
    return fault(errc::broker_unreachable, "it answers " + std::to_string(got.status));
  }
  auto facts = got.status == 200 ? facts_in(got.body, version) : std::nullopt;
  if (facts) return *facts;
  return fault(errc::conflict, "it answers " + std::to_string(got.status) + ", and no queue");
}

}  // namespace

result<queue_facts> ask_management(const address& where, std::string_view version,
                                   milliseconds timeout) {
  constexpr int pause = 200;
  const auto until = base::boot_now() + timeout;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - base::boot_now());
    auto got = ask_once(where, version, left);
    if (!got || got->is_complete) return got;
    if (left <= milliseconds(pause)) {
      return error(errc::broker_unreachable,
                   where.url.name() +
                       ": the management API has no policies of the queue yet, or "
                       "never has where its statistics are disabled");
    }
    ::poll(nullptr, 0, pause);
  }
}

}  // namespace onceguard::messaging::rabbitmq
