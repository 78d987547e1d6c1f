#include "gateway/probe.hpp"

#include <algorithm>

#include "base/address.hpp"
#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/number_in.hpp"
#include "base/url.hpp"
#include "engine/held_lease.hpp"
#include "gateway/upstream_call.hpp"
#include "http/forwarded_fields.hpp"
#include "http/settle_by_answer.hpp"

namespace onceguard::gateway {

namespace asio = boost::asio;

namespace {

std::string quoted_probe_key(std::string_view key) {
  std::string out = "\"";
  for (const char c : key) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out += '"';
}

std::string make_request(const probe_question& question, const endpoint& endpoint,
                         std::string_view target) {
  const bool fence = question.mode == probe_rule::fence;
  std::string out;
  http1::append_request_line(out, fence ? "POST" : "GET", target);
  const bool six = endpoint.host.find(':') != std::string::npos;
  const auto host = six ? "[" + endpoint.host + "]" : endpoint.host;
  http1::append_field(out, "Host", host + ":" + std::to_string(endpoint.port));
  http1::append_field(out, "Idempotency-Key", quoted_probe_key(question.key));
  http1::append_field(out, "Onceguard-Scope", question.scope);
  http1::append_field(out, "Onceguard-Token", std::to_string(question.token));
  if (fence) http1::append_content_length(out, 0);
  http1::append_end_of_head(out);
  return out;
}

/// The first answer as the application sent it; null if its status is invalid.
answer_ptr read_first_answer(const http1::head& head, call_result result) {
  auto out = std::make_shared<answer>();
  out->status = 200;
  if (const auto* status = base::find_field(head.fields, "onceguard-status")) {
    const auto number = base::number_in<std::uint16_t>(status->value, 200, 599);
    if (!number) return nullptr;
    out->status = *number;
  }
  http::keep_fields(head.fields, false, *out);
  std::erase_if(out->headers, [](const auto& f) { return http::is_reserved_field(f.first); });
  out->body = std::move(result.body);
  return out;
}

effect_report read_report(const http1::head& answer, call_result result,
                          const probe_question& question) {
  effect_report out;
  const auto* outcome = base::find_field(answer.fields, "onceguard-outcome");
  if (outcome != nullptr && answer.status == 200 && base::iequals(outcome->value, "done")) {
    out.answer = read_first_answer(answer, std::move(result));
    if (out.answer) out.status = effect_status::done;
    return out;
  }
  if (outcome != nullptr && answer.status == 404 && base::iequals(outcome->value, "none")) {
    // Only the echoed token proves that the application has seen the token and now refuses earlier
    // ones.
    const auto* echoed = base::find_field(answer.fields, "onceguard-token");
    const auto number =
        echoed != nullptr ? base::number_in<onceguard::token>(echoed->value) : std::nullopt;
    const bool fenced = number && number == question.token;
    if (fenced || question.mode == probe_rule::ask) out.status = effect_status::not_done;
    return out;
  }
  if (question.mode == probe_rule::ask && outcome == nullptr) {
    if (question.present != 0 && answer.status == question.present) {
      out.status = effect_status::done;
      auto bare = std::make_shared<onceguard::answer>();
      bare->status = 200;
      out.answer = std::move(bare);
    } else if (question.absent != 0 && answer.status == question.absent) {
      out.status = effect_status::not_done;
    }
  }
  return out;
}

effect_report failed_to_ask(base::log_level level, std::string why) {
  base::log(base::event::probe_failed, level, {{"why", why}});
  effect_report out;
  out.why = std::move(why);
  return out;
}

}  // namespace

probe_question make_probe_question(const route_policy& policy, const digest& scope, std::string key,
                                   onceguard::token token) {
  probe_question out;
  out.url = policy.probe;
  out.mode = policy.probe_mode;
  out.present = policy.probe_present;
  out.absent = policy.probe_absent;
  out.key = std::move(key);
  out.scope = base::to_hex(scope);
  out.token = token;
  out.max_answer_body = policy.max_answer_body;
  out.timeout = std::min(policy.upstream_timeout, milliseconds(10'000));
  return out;
}

std::string fill_probe_url(std::string_view url, std::string_view scope, std::string_view key) {
  std::string out;
  for (std::size_t i = 0; i < url.size();) {
    if (url.substr(i).starts_with("{scope}")) {
      out += base::percent_encoded(scope);
      i += 7;
    } else if (url.substr(i).starts_with("{key}")) {
      out += base::percent_encoded(key);
      i += 5;
    } else {
      out += url[i++];
    }
  }
  return out;
}

asio::awaitable<effect_report> ask_application(upstream_pool& pool, probe_question question,
                                               const held_lease& held) {
  using base::log_level;
  const auto url = base::parse_web_url(fill_probe_url(question.url, question.scope, question.key));
  if (!url) co_return failed_to_ask(log_level::error, url.error().detail);
  auto connection = co_await pool.connect(url->address);
  if (!connection) co_return failed_to_ask(log_level::warning, connection.error().detail);
  auto& up = **connection;
  const bool fence = question.mode == probe_rule::fence;
  up.reader.answers_to(fence ? "POST" : "GET");
  call_limits limits;
  limits.upstream_timeout = question.timeout;
  limits.write_timeout = question.timeout;
  limits.max_answer_body = question.max_answer_body;
  byte_reservation not_counted;
  auto request = make_request(question, url->address, url->path.empty() ? "/" : url->path);
  auto result = co_await call_upstream(up, std::move(request), std::string_view(), limits, &held,
                                       not_counted);
  if (result.end == call_end::lease_over) {
    co_return failed_to_ask(log_level::warning, "the lease was over before the question was sent");
  }
  if (result.end != call_end::answered) {
    co_return failed_to_ask(log_level::warning, "no whole answer");
  }
  const auto status = up.reader.head().status;
  auto report = read_report(up.reader.head(), std::move(result), question);
  if (report.status == effect_status::unknown) {
    report.why = "the probe's answer of status " + std::to_string(status) + " is not clear";
  }
  co_return report;
}

}  // namespace onceguard::gateway
