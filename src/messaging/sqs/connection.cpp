#include "messaging/sqs/connection.hpp"

#include <algorithm>
#include <curl/curl.h>
#include <new>
#include <optional>

#include <nlohmann/json.hpp>

#include "messaging/sqs/backoff.hpp"
#include "messaging/sqs/failure.hpp"

namespace onceguard::messaging::sqs {
namespace {

/// Ten messages of a mebibyte each, as JSON may write them.
constexpr std::size_t largest_answer = std::size_t{64} << 20;

struct free_list {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using header_list = std::unique_ptr<curl_slist, free_list>;

void add_header(header_list& list, const std::string& line) {
  auto* const longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
}

std::size_t append_answer(char* data, std::size_t, std::size_t size, void* target) {
  auto& body = *static_cast<std::string*>(target);
  if (body.size() + size > largest_answer) return 0;
  body.append(data, size);
  return size;
}

/// Of an answer that is no success: the error's name and its text.
std::pair<std::string, std::string> error_of(const std::string& body) {
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  std::pair<std::string, std::string> out;
  if (!parsed.is_object()) return out;
  for (const auto& [name, value] : parsed.items()) {
    if (!value.is_string()) continue;
    const auto& text = value.get_ref<const std::string&>();
    // "com.amazonaws.sqs#QueueDoesNotExist"
    if (name == "__type") out.first = text.substr(text.rfind('#') + 1);
    if (name == "message" || name == "Message") out.second = text;
  }
  return out;
}

}  // namespace

void connection::free_handle::operator()(void* handle) const noexcept { curl_easy_cleanup(handle); }

connection::connection(const sqs_url& url, milliseconds timeout)
    : name_(url.name()),
      endpoint_(url.endpoint + '/'),
      signing_("aws:amz:" + url.region + ":sqs"),
      credentials_(find_credentials()),
      timeout_(timeout) {
  static const auto ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  handle_.reset(curl_easy_init());
  if (ready != CURLE_OK || !handle_) throw std::bad_alloc();
}

connection::~connection() = default;

std::string connection::ask(std::string_view action, const std::string& request, time_point until) {
  backoff pause(until);
  std::optional<error> refused;
  while (true) {
    // Of a last try that has little time left, the refusal before it says more.
    auto got = caught([&] { return exchange(action, request, until); });
    if (!got) throw failed{refused.value_or(got.error())};
    if (got->status >= 200 && got->status < 300) return std::move(got->body);
    const auto [code, words] = error_of(got->body);
    refused = refusal(name_, got->status, code, words);
    if (!is_passing(got->status, code) || !pause.wait()) throw failed{*std::move(refused)};
  }
}

connection::answer connection::exchange(std::string_view action, const std::string& request,
                                        time_point until) {
  auto* const curl = handle_.get();
  const auto begin = base::boot_now();
  const auto left = std::max(std::chrono::ceil<milliseconds>(until - begin), milliseconds(1));
  header_list headers;
  // All of them are signed. None may be removed by an empty one, such as `Expect:`: libcurl 7.88
  // signs that, too.
  add_header(headers, "Content-Type: application/x-amz-json-1.0");
  add_header(headers, "X-Amz-Target: AmazonSQS." + std::string(action));
  if (!credentials_.session_token.empty()) {
    add_header(headers, "X-Amz-Security-Token: " + credentials_.session_token);
  }
  answer out;
  char fault[CURL_ERROR_SIZE] = "";
  curl_easy_reset(curl);  // keeps the connections
  curl_easy_setopt(curl, CURLOPT_URL, endpoint_.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, signing_.c_str());
  curl_easy_setopt(curl, CURLOPT_USERNAME, credentials_.key_id.c_str());
  curl_easy_setopt(curl, CURLOPT_PASSWORD, credentials_.secret.c_str());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "onceguard");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.data());
  curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);  // of large requests: no wait for 100
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);  // without a wait for a name that is not found
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(std::clamp(timeout_, milliseconds(1), left).count()));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, fault);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append_answer);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &out.body);
  const auto code = curl_easy_perform(curl);
  usable_ = code == CURLE_OK;
  if (!usable_) {
    long sent = 0;
    curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
    throw failed{error(errc::broker_unreachable,
                       name_ + ": " + (fault[0] != '\0' ? fault : curl_easy_strerror(code)),
                       sent > 0 ? effect::unknown : effect::none)};
  }
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out.status);
  quickest_ = std::min(quickest_, base::boot_now() - begin);
  return out;
}

}  // namespace onceguard::messaging::sqs
