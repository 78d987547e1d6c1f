#include <optional>

#include <onceguard/inbox_postgres.hpp>
#include <onceguard/postgres.hpp>

#include "execute/postgres/libpq_transaction.hpp"
#include "execute/postgres/sql_calls.hpp"
#include "execute/postgres/transaction_claim.hpp"
#include "execute/request.hpp"
#include "messaging/inbox/batch_plan.hpp"
#include "messaging/inbox/inbox_outcome.hpp"
#include "messaging/inbox_postgres/batch_transaction.hpp"

namespace onceguard::postgres {
namespace {

namespace msg = onceguard::messaging;

/// The handler ended the transaction that it ran in.
struct ended_by_handler {};

/// One message of a batch on its way through the transaction.
struct claimed_message {
  std::size_t position = 0;
  record_id id{};
  lease held;
};

class batch_run {
 public:
  batch_run(batch_transaction& transaction, const std::string& subscriber,
            const inbox_policy& policy, std::span<const inbox_message> batch)
      : transaction_(transaction),
        subscriber_(subscriber),
        policy_(policy),
        batch_(batch),
        plan_(batch, policy) {}

  /// Throws statement_failed; `reached` tells in which phase.
  std::vector<inbox_outcome> run(const message_handler& handler, phase& reached) {
    reached = phase::claiming;
    claim();
    if (!granted_.empty()) {
      reached = phase::working;
      for (const auto& one : granted_) handle(one, handler);
      reached = phase::committing;
      transaction_.commit(settlements_);
    }
    return std::move(plan_).finish(batch_);
  }

  /// Records the failure of the only message, whose effects can't be committed.
  std::vector<inbox_outcome> fail(const std::string& reason, phase& reached) {
    reached = phase::claiming;
    claim();
    for (const auto& one : granted_) {
      settle(one, msg::failure_of(reason, one.held.attempt, policy_));
    }
    reached = phase::committing;
    if (!granted_.empty()) transaction_.commit(settlements_);
    return std::move(plan_).finish(batch_);
  }

 private:
  void claim() {
    if (plan_.to_claim.empty()) return;
    execute_policy terms;
    terms.lease = policy_.lease;
    std::vector<request> requests;
    std::vector<onceguard::claim> claims;
    for (const auto position : plan_.to_claim) {
      requests.push_back(msg::request_of(subscriber_, batch_[position], policy_));
      claims.push_back(claim_of(requests.back(), terms, unknown_policy::hold));
      claims.back().retention = policy_.retention;
    }
    const auto rows = transaction_.begin(claims_text(requests, claims), policy_.lease);
    if (rows.size() != claims.size()) {
      throw statement_failed("42883", "claim_now: another number of rows");
    }
    for (std::size_t i = 0; i < claims.size(); ++i) {
      auto got = read_claimed(rows[i], claims[i]);
      const auto position = plan_.to_claim[i];
      if (got.verdict.kind == verdict_kind::run) {
        granted_.push_back({position, claims[i].id, got.verdict.lease});
      } else {
        plan_.outcomes[position] = msg::outcome_of(got.verdict);
      }
    }
  }

  void handle(const claimed_message& one, const message_handler& handler) {
    transaction_.next_message();
    inbox_outcome outcome;
    try {
      handler(batch_[one.position], one.held);
      outcome = transaction_.failed() ? msg::failure_of("a statement of the handler failed",
                                                        one.held.attempt, policy_)
                                      : msg::handled(one.held.attempt);
    } catch (const statement_failed& failed) {
      // The whole transaction has to run again, or is lost.
      if (conflicts(failed) || failed.lost()) throw;
      outcome = msg::failure_of(one.held.attempt, policy_);
    } catch (...) {
      outcome = msg::failure_of(one.held.attempt, policy_);
    }
    transaction_.check_connection();
    if (!transaction_.open()) throw ended_by_handler{};
    if (outcome.kind != inbox_result::handled) transaction_.undo_message();
    settle(one, std::move(outcome));
  }

  void settle(const claimed_message& one, inbox_outcome outcome) {
    if (outcome.kind == inbox_result::failed) {
      settlements_ += fail_text(one.id, one.held, policy_.backoff, policy_.backoff_max);
    } else {
      const auto answer = outcome.kind == inbox_result::handled ? msg::handled_answer()
                                                                : msg::dead_answer(outcome.reason);
      settlements_ += complete_text(one.id, one.held, answer, policy_.retention);
    }
    settlements_ += ';';
    plan_.outcomes[one.position] = std::move(outcome);
  }

  batch_transaction& transaction_;
  const std::string& subscriber_;
  const inbox_policy& policy_;
  const std::span<const inbox_message> batch_;
  msg::batch_plan plan_;
  std::vector<claimed_message> granted_;
  std::string settlements_;
};

using outcomes = std::vector<inbox_outcome>;

class batch_processor {
 public:
  batch_processor(PGconn* connection, const std::string& subscriber, const inbox_policy& policy,
                  const message_handler& handler)
      : connection_(connection), subscriber_(subscriber), policy_(policy), handler_(handler) {}

  result<outcomes> process(std::span<const inbox_message> batch) {
    for (std::uint32_t conflicts_met = 0;;) {
      auto reached = phase::claiming;
      try {
        return attempt(batch, reached, {});
      } catch (const ended_by_handler&) {
        return error(errc::conflict, "inbox: the handler ended the transaction that it ran in",
                     effect::unknown);
      } catch (const statement_failed& failed) {
        const bool in_doubt = failed.lost() && reached == phase::committing;
        if (failed.lost()) return to_error(failed, in_doubt ? effect::unknown : effect::none);
        if (reached == phase::claiming && !conflicts(failed)) {
          auto why = to_error(failed, effect::none);
          const bool of_one = why.code == errc::record_unreadable && batch.size() > 1;
          if (!of_one) return why;
        }
        if (batch.size() > 1) {
          return msg::one_by_one(batch, policy_, [this](auto message) { return process(message); });
        }
        if (conflicts(failed) && conflicts_met++ < policy_.conflict_retries) continue;
        return give_up(batch, failed.what());
      }
    }
  }

 private:
  outcomes attempt(std::span<const inbox_message> batch, phase& reached,
                   const std::optional<std::string>& failure) {
    batch_transaction transaction(connection_);
    batch_run run(transaction, subscriber_, policy_, batch);
    return failure ? run.fail(*failure, reached) : run.run(handler_, reached);
  }

  /// The only message of the batch has failed, and its transaction with it.
  result<outcomes> give_up(std::span<const inbox_message> batch, const std::string& reason) {
    auto reached = phase::claiming;
    try {
      return attempt(batch, reached, reason);
    } catch (const statement_failed& failed) {
      const bool in_doubt = failed.lost() && reached == phase::committing;
      return to_error(failed, in_doubt ? effect::unknown : effect::none);
    }
  }

  PGconn* const connection_;
  const std::string& subscriber_;
  const inbox_policy& policy_;
  const message_handler& handler_;
};

std::optional<error> not_idle(const PGconn* connection) {
  if (auto why = not_ready(connection)) return why;
  if (PQtransactionStatus(connection) == PQTRANS_IDLE) return std::nullopt;
  return error(errc::conflict, "inbox: the connection is in a transaction");
}

}  // namespace

inline namespace v1 {

inbox::inbox(pg_conn* connection, std::string subscriber, inbox_policy policy)
    : connection_(connection), subscriber_(std::move(subscriber)), policy_(policy) {
  msg::check(subscriber_, policy_);
}

result<std::vector<inbox_outcome>> inbox::process(std::span<const inbox_message> batch,
                                                  const message_handler& handler) {
  if (auto why = not_idle(connection_)) return *why;
  return batch_processor(connection_, subscriber_, policy_, handler).process(batch);
}

result<inbox_outcome> inbox::process(const inbox_message& message, const message_handler& handler) {
  return msg::only(process(std::span(&message, 1), handler));
}

}  // namespace v1
}  // namespace onceguard::postgres
