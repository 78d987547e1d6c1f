#include "aws/signed_request.hpp"

#include <algorithm>

#include "aws/curl_handle.hpp"

namespace onceguard::aws {
namespace {

/// The largest page of DynamoDB and the largest batch of SQS are smaller, as JSON writes them too.
constexpr std::size_t largest_answer = std::size_t{64} << 20;

std::size_t append_service_answer(char* data, std::size_t, std::size_t size, void* target) {
  auto& body = *static_cast<std::string*>(target);
  if (body.size() + size > largest_answer) return 0;
  body.append(data, size);
  return size;
}

}  // namespace

struct signed_request::state {
  curl_handle curl;
  header_list headers;
  std::string body;
  char fault[CURL_ERROR_SIZE] = "";
};

signed_request::signed_request() : state_(std::make_unique<state>()) {
  prepare_curl();
  state_->curl.reset(curl_easy_init());
  if (!state_->curl) throw std::bad_alloc();
}

signed_request::~signed_request() = default;

void signed_request::prepare(const service& target, const credentials& signer,
                             std::string_view action, const std::string& body,
                             const patience& limits) {
  auto* const curl = state_->curl.get();
  const auto at_least_one = [](milliseconds length) {
    return static_cast<long>(std::max(length, milliseconds(1)).count());
  };
  header_list headers;
  // All of them are signed. None may be removed by an empty one, such as `Expect:`: libcurl 7.88
  // signs that, too.
  add_header(headers, "Content-Type: application/x-amz-json-1.0");
  add_header(headers, "X-Amz-Target: " + target.target + std::string(action));
  if (!signer.session_token.empty()) {
    add_header(headers, "X-Amz-Security-Token: " + signer.session_token);
  }
  state_->body.clear();
  state_->fault[0] = '\0';
  curl_easy_reset(curl);  // keeps the connections
  curl_easy_setopt(curl, CURLOPT_URL, (target.endpoint + '/').c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_AWS_SIGV4,
                   ("aws:amz:" + target.region + ":" + target.name).c_str());
  curl_easy_setopt(curl, CURLOPT_USERNAME, signer.key_id.c_str());
  curl_easy_setopt(curl, CURLOPT_PASSWORD, signer.secret.c_str());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "onceguard");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);  // of large requests: no wait for 100
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);  // without a wait for a name that is not found
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, at_least_one(limits.whole));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   at_least_one(std::min(limits.connecting, limits.whole)));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, state_->fault);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append_service_answer);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &state_->body);
  state_->headers = std::move(headers);  // the former ones only now: they were still set
}

int signed_request::perform() { return static_cast<int>(curl_easy_perform(state_->curl.get())); }

void* signed_request::handle() const noexcept { return state_->curl.get(); }

answer signed_request::take_answer() {
  auto* const curl = state_->curl.get();
  answer out;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &out.status);
  out.body = std::move(state_->body);
  curl_header* date = nullptr;
  if (curl_easy_header(curl, "Date", 0, CURLH_HEADER, -1, &date) == CURLHE_OK) {
    const auto seconds = curl_getdate(date->value, nullptr);
    if (seconds >= 0) out.date = static_cast<std::int64_t>(seconds) * 1'000;
  }
  return out;
}

broken_exchange signed_request::failure_of(int code) const {
  long sent = 0;
  curl_easy_getinfo(state_->curl.get(), CURLINFO_REQUEST_SIZE, &sent);
  const auto* const text = curl_easy_strerror(static_cast<CURLcode>(code));
  const bool lasting = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CERTPROBLEM ||
                       code == CURLE_SSL_CACERT_BADFILE || code == CURLE_SSL_ISSUER_ERROR;
  return {state_->fault[0] != '\0' ? state_->fault : text, sent > 0, lasting};
}

}  // namespace onceguard::aws
