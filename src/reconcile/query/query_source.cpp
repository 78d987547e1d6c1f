#include "reconcile/query/query_source.hpp"

#include <optional>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "engine/held_lease.hpp"
#include "http/forwarded_fields.hpp"
#include "http/settle_by_answer.hpp"
#include "http1/message.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace postgres {
namespace {

constexpr int callers_ahead = 10;  // more than reconcile asks about at once

class outcome_query_call : public call {
 public:
  virtual void carry_out(outcome_query& query) = 0;
};

class open_job final : public outcome_query_call {
 public:
  [[nodiscard]] result<void> outcome() { return lapse() ? result<void>(*lapse()) : *outcome_; }

 private:
  void carry_out(outcome_query& query) override { outcome_ = query.open(); }

  std::optional<result<void>> outcome_;
};

class ask_job final : public outcome_query_call {
 public:
  ask_job(const digest& scope, std::string key, token lease_token)
      : scope_(scope), key_(std::move(key)), token_(lease_token) {}

  [[nodiscard]] effect_report outcome() {
    if (lapse()) return {effect_status::unknown, nullptr, "the query did not answer in time"};
    return std::move(outcome_);
  }

 private:
  void carry_out(outcome_query& query) override { outcome_ = query.ask(scope_, key_, token_); }

  const digest scope_;
  const std::string key_;
  const token token_;
  effect_report outcome_;
};

}  // namespace

outcome_query_thread::outcome_query_thread(outcome_query_params params)
    : patience_(callers_ahead * params.timeout), query_(std::move(params)) {
  thread_ = std::thread([this] { run(); });
}

outcome_query_thread::~outcome_query_thread() {
  queue_->close();
  thread_.join();
}

void outcome_query_thread::run() {
  std::vector<call_ptr> calls;
  while (queue_->wait(calls, 1)) {
    if (calls.front()->take()) static_cast<outcome_query_call&>(*calls.front()).carry_out(query_);
    deliver_all(calls);
  }
}

asio::awaitable<result<void>> outcome_query_thread::open() {
  const auto job = std::make_shared<open_job>();
  co_await perform(job, queue_, patience_);
  co_return job->outcome();
}

asio::awaitable<effect_report> outcome_query_thread::ask(digest scope, std::string key,
                                                         token lease_token) {
  const auto job = std::make_shared<ask_job>(scope, std::move(key), lease_token);
  co_await perform(job, queue_, patience_);
  co_return job->outcome();
}

}  // namespace postgres

namespace {

/// The reason why a header field can't be sent; empty: all fields can be sent.
std::string field_fault(const answer& answer) {
  for (const auto& [name, value] : answer.headers) {
    if (!http1::is_token(name)) return "no header field can be called \"" + name + "\"";
    if (!http1::is_field_value(base::trim(value))) return "a control character in " + name;
  }
  return {};
}

/// The answer as if it had come from the upstream: without the fields that are never stored.
answer_ptr as_kept(const answer& stored_answer) {
  std::vector<base::field> fields;
  for (const auto& [name, value] : stored_answer.headers) {
    if (!http::is_reserved_field(name)) fields.push_back({name, base::trim(value)});
  }
  auto out = std::make_shared<answer>();
  out->status = stored_answer.status;
  out->body = stored_answer.body;
  http::keep_fields(fields, false, *out);
  return out;
}

}  // namespace

effect_report as_http_has_it(effect_report report) {
  if (!report.answer) return report;
  if (auto fault = field_fault(*report.answer); !fault.empty()) {
    return {effect_status::unknown, nullptr, std::move(fault)};
  }
  report.answer = as_kept(*report.answer);
  return report;
}

asio::awaitable<effect_report> query_source::ask(const subject& about, const held_lease& held) {
  co_return co_await query(about, held.lease().token);
}

asio::awaitable<effect_report> query_source::query(const subject& about, token lease_token) {
  co_return as_http_has_it(co_await thread_.ask(about.scope, about.key, lease_token));
}

asio::awaitable<std::optional<effect_report>> query_source::preview(const subject& about,
                                                                    token present) {
  if (!read_only_) co_return std::nullopt;
  co_return co_await query(about, present);
}

}  // namespace onceguard
