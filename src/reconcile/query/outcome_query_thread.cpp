#include "reconcile/query/outcome_query_thread.hpp"

#include <optional>

namespace onceguard::postgres {

namespace asio = boost::asio;

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

}  // namespace onceguard::postgres
