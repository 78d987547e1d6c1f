// Records whose outcome is unknown, and an application that is asked about them.
#pragma once
#include <map>

#include "base/random.hpp"
#include "engine/engine_fixture.hpp"
#include "reconcile/reconcile.hpp"

namespace onceguard {

/// An application that remembers what it was asked.
class reported_source final : public outcome_source {
 public:
  std::map<std::string, effect_status> says;
  std::map<std::string, int> questions;
  std::map<std::string, token> tokens;
  bool previews = true;
  bool knows_answers = true;
  asio::steady_timer* gate = nullptr;

  [[nodiscard]] std::string_view name() const noexcept override { return "query"; }
  asio::awaitable<effect_report> ask(const subject& about, const held_lease& held) override {
    ++questions[about.key];
    tokens[about.key] = held.lease().token;
    if (gate != nullptr) {
      boost::system::error_code opened;
      co_await gate->async_wait(asio::redirect_error(asio::use_awaitable, opened));
    }
    co_return report(about);
  }
  asio::awaitable<std::optional<effect_report>> preview(const subject& about, token) override {
    if (!previews) co_return std::nullopt;
    co_return report(about);
  }

 private:
  effect_report report(const subject& about) {
    effect_report out;
    const auto found = says.find(about.key);
    out.status = found == says.end() ? effect_status::unknown : found->second;
    if (out.status == effect_status::unknown) out.why = "no idea";
    if (out.status == effect_status::done && knows_answers) {
      auto a = std::make_shared<answer>();
      a->status = 201;
      a->body = "of " + about.key;
      out.answer = std::move(a);
    }
    return out;
  }
};

class reconcile_test : public engine_over_faults {
 protected:
  reported_source source;
  inquiry choice;
  reconcile_params params;
  std::vector<finding> found;

  void SetUp() override {
    engine_over_faults::SetUp();
    choice.source = &source;
  }
  static claim claim_of(const operation& operation) {
    claim out;
    out.id = operation.id;
    base::random_bytes(out.claim_id);
    out.about = operation.about;
    return out;
  }
  verdict claimed(const claim& request) {
    std::vector<claim> batch(1, request);
    return *run(io, inner.claim(batch, milliseconds(100)))[0];
  }
  settled settle(const claim& request, const lease& held, settle_kind kind,
                 unknown_reason why = unknown_reason::none) {
    settlement out;
    out.id = request.id;
    out.token = held.token;
    out.claim_id = held.claim_id;
    out.about = request.about;
    out.kind = kind;
    out.why = why;
    std::vector<settlement> batch(1, out);
    return *run(io, inner.settle(batch, milliseconds(100)))[0];
  }
  /// A record whose outcome is unknown, as its holder was when it became so.
  std::pair<claim, lease> unknown(const std::string& key,
                                  unknown_reason why = unknown_reason::upstream_broken,
                                  const std::string& scope_kind = "credential") {
    auto request = op(key);
    auto about = std::make_shared<subject>(*request.about);
    about->scope_kind = scope_kind;
    about->run_timeout = milliseconds(60'000);
    request.about = std::move(about);
    const auto question = claim_of(request);
    const auto held = claimed(question).lease;
    settle(question, held, settle_kind::abandon, why);
    return {question, held};
  }
  asio::awaitable<result<reconcile_counts>> round() {
    auto choose = [this](const subject&) { return choice; };
    auto keep = [this](const finding& one) { found.push_back(one); };
    return reconcile(io, store, params, choose, keep);
  }
  result<reconcile_counts> reconciled() { return run(io, round()); }
  /// Begins a round, and waits for a moment of it.
  template <class Condition>
  void begin_round(Condition reached) {
    asio::co_spawn(io, round(), [this](std::exception_ptr, result<reconcile_counts> got) {
      ended_ = std::move(got);
    });
    until(reached);
  }
  reconcile_counts end_of_round() {
    until([&] { return ended_.has_value(); });
    EXPECT_TRUE(*ended_);
    return ended_->value();
  }
  record_view find_record(const std::string& key) {
    return **run(io, inner.find(op(key).id, milliseconds(100)));
  }
  void by_hand(const std::string& key, bool completed) {
    resolution request;
    request.id = op(key).id;
    request.completed = completed;
    request.force = true;
    if (completed) {
      auto made = std::make_shared<answer>();
      made->status = 202;
      request.answer = std::move(made);
    }
    EXPECT_TRUE(run(io, inner.resolve(request, milliseconds(100))));
  }

  std::optional<result<reconcile_counts>> ended_;
};

}  // namespace onceguard
