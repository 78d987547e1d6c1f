// One claim of an operation, step by step: the result is a lease or an outcome to send.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/awaitable.hpp>

#include "base/clock.hpp"
#include "engine/earlier_try.hpp"
#include "engine/lease_handle.hpp"

namespace onceguard {

/// For how long a twin is waited for; 0: not at all.
[[nodiscard]] milliseconds wait_of(const operation& op);

/// See engine::claim().
[[nodiscard]] boost::asio::awaitable<claim_result> claim_operation(engine::state& engine,
                                                                   lease_home home,
                                                                   operation operation);

class claim_attempt {
 public:
  claim_attempt(engine::state& engine, lease_home home, operation op)
      : engine_(engine), home_(home), op_(std::move(op)) {}

  boost::asio::awaitable<claim_result> run() {
    auto out = co_await attempt_within_quota();
    const auto wait = wait_of(op_);
    if (out.outcome.kind != outcome_kind::busy || wait.count() <= 0) co_return out;
    auto waited = co_await wait_for_twin();
    waited.outcome.waited = true;
    co_return waited;
  }

 private:
  /// attempt(), by the rules on what a scope may bring.
  boost::asio::awaitable<claim_result> attempt_within_quota();
  boost::asio::awaitable<claim_result> attempt();
  /// None: the claim may go on, and `quota_` has its slot.
  boost::asio::awaitable<std::optional<claim_result>> refuse_over_quota();
  /// Sends one claim and acts on its verdict; none: another claim is needed.
  boost::asio::awaitable<std::optional<claim_result>> claim_once();
  boost::asio::awaitable<result<verdict>> send(claim request);
  boost::asio::awaitable<record_holder> holder_met();
  boost::asio::awaitable<result<verdict>> claim_after_commit(claim& request);
  boost::asio::awaitable<std::optional<claim_result>> granted(const claim& request, lease got,
                                                              base::boot_clock::time_point claimed);
  void note_run(const claim& request, const lease& got);
  claim_result refused(const claim& request, const verdict& verdict);
  claim_result busy();
  claim_result in_doubt(claim request, error why);
  claim_result out_of_reach(error why);
  claim_result store_failed(error why) const;
  [[nodiscard]] claim make_claim() const;
  std::optional<claim_result> remake_fingerprint(const std::string& method);
  boost::asio::awaitable<std::optional<claim_result>> stored_answer(const verdict& verdict);
  boost::asio::awaitable<std::optional<claim_result>> differs(bool other_work);
  bool take_former_marks();

  boost::asio::awaitable<result<bool>> go_to_living_scope();
  boost::asio::awaitable<result<bool>> yield_to_another_scope(lease got);

  boost::asio::awaitable<claim_result> wait_for_twin();
  [[nodiscard]] std::optional<claim_result> take_over(const twin_outcome& twin);
  [[nodiscard]] bool take_room() const;
  void give_back_room() const noexcept;

  engine::state& engine_;
  const lease_home home_;
  operation op_;
  /// Before its fingerprint was made by the method of a record.
  std::optional<scoped_operation> as_sent_;
  /// Another claim's lease has the record: no earlier try of this one.
  bool knows_holder_ = false;
  /// A claim met a lease.
  bool taken_ = false;
  /// Until the claim is granted: what it takes of its scope's quota.
  scope_quotas::slot quota_;
};

}  // namespace onceguard
