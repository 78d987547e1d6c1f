#include <algorithm>
#include <curl/curl.h>
#include <memory>
#include <stdexcept>
#include <string>

#include <onceguard/client_curl.hpp>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/for_ever.hpp"
#include "base/unique_handle.hpp"
#include "client/answer_fields.hpp"
#include "client/delivery_run.hpp"

namespace onceguard::client {
inline namespace v1 {
namespace {

using header_list = base::unique_handle<curl_slist, curl_slist_free_all>;

/// What the callbacks of one attempt fill in.
struct reception {
  answer got;
  std::size_t max_answer;
  const std::stop_token& stop;
  bool too_long = false;
  int interim_answers = 0;
};

std::size_t take_answer_header(char* data, std::size_t, std::size_t size, void* target) {
  auto& received = *static_cast<reception*>(target);
  auto& headers = received.got.headers;
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {
    headers.clear();  // of an answer that another one follows
    const auto space = std::min(line.find(' '), line.size());
    received.interim_answers += line.substr(space).starts_with(" 1") ? 1 : 0;
    if (received.interim_answers > interim_answers_max) return 0;
  }
  const auto colon = line.find(':');
  if (colon != line.npos && !line.starts_with("HTTP/")) {
    auto value = line.substr(colon + 1);
    value = value.substr(0, value.find_last_not_of("\r\n") + 1);
    headers.emplace_back(line.substr(0, colon), base::trim(value));
  }
  return size;
}

std::size_t take_answer_body(char* data, std::size_t, std::size_t size, void* target) {
  auto& received = *static_cast<reception*>(target);
  if (received.got.body.size() + size > received.max_answer) {
    received.too_long = true;
    return 0;
  }
  received.got.body.append(data, size);
  return size;
}

int end_if_stopped(void* target, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<reception*>(target)->stop.stop_requested() ? 1 : 0;
}

bool is_permanent(CURLcode code) {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
         code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
}

curl_slist* append_header_line(curl_slist* list, const std::string& line) {
  auto* const longer = curl_slist_append(list, line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  return longer;
}

header_list headers_of(const request& sent) {
  header_list out;
  const auto add = [&](const std::string& line) {
    out.reset(append_header_line(out.release(), line));
  };
  for (const auto& [name, value] : sent.headers) {
    add(value.empty() ? name + ";" : name + ": " + value);
  }
  if (!sent.key.empty()) add("Idempotency-Key: " + key_field(sent.key));
  add("Expect:");  // no wait for 100 before the body
  const auto is_type = [](const auto& field) { return base::iequals(field.first, "content-type"); };
  // Without this curl calls every body a form.
  if (std::ranges::none_of(sent.headers, is_type)) add("Content-Type:");
  return out;
}

}  // namespace

struct curl_transport::state {
  transport_params params;
  base::unique_handle<CURL, curl_easy_cleanup> handle;
};

curl_transport::curl_transport(transport_params params) : state_(std::make_unique<state>()) {
  static const auto ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  state_->params = std::move(params);
  state_->handle.reset(curl_easy_init());
  if (ready != CURLE_OK || !state_->handle) throw std::runtime_error("libcurl: no handle");
}

curl_transport::~curl_transport() = default;

attempt curl_transport::send(const request& sent, milliseconds timeout,
                             const std::stop_token& stop) {
  auto* const curl = state_->handle.get();
  reception received{{}, state_->params.max_answer, stop};
  char fault[CURL_ERROR_SIZE] = "";
  const auto headers = headers_of(sent);
  curl_easy_reset(curl);  // keeps the connections
  curl_easy_setopt(curl, CURLOPT_URL, sent.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, sent.method.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  if (sent.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (!sent.body.empty() || (sent.method != "GET" && sent.method != "DELETE")) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(sent.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, sent.body.data());
  }
  // On a connection that was used before, curl repeats by itself what found it closed.
  if (!is_repeatable(sent)) curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
  // Else curl may set SIGALRM's handler, in a program that has threads.
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);  // without a wait for a look-up that hangs
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(base::bounded(timeout).count()));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, fault);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_answer_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &received);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &received);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, end_if_stopped);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &received);
  // Or curl never asks whether it is to stop.
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (!state_->params.ca_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_CAINFO, state_->params.ca_file.c_str());
  }
  const auto code = curl_easy_perform(curl);
  attempt out;
  long number = 0;
  curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &number);
  out.sent = number > 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &number);
  if (code == CURLE_OK && number >= 200) {
    out.answer = std::move(received.got);
    out.answer->status = static_cast<std::uint16_t>(number);
    return out;
  }
  out.permanent = is_permanent(code) || received.too_long;
  if (received.too_long) {
    out.fault = too_long_text(static_cast<unsigned>(number), received.max_answer);
  } else if (received.interim_answers > interim_answers_max) {
    out.fault = interim_fault;
  } else {
    out.fault = fault[0] != '\0' ? fault : curl_easy_strerror(code);
  }
  return out;
}

}  // namespace v1
}  // namespace onceguard::client
