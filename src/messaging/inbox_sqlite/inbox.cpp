#include <onceguard/inbox_sqlite.hpp>

#include "execute/request.hpp"
#include "execute/sqlite/caller_transaction.hpp"
#include "messaging/inbox/batch_plan.hpp"
#include "messaging/inbox/inbox_outcome.hpp"

namespace onceguard::sqlite {
namespace {

namespace msg = onceguard::messaging;

constexpr std::size_t swept_along = 4;

error ended_by_others(const std::string& reason) {
  return {errc::conflict,
          "inbox: the transaction was ended while the handler ran in it" +
              (reason.empty() ? "" : ": " + reason),
          effect::unknown};
}

/// A failure that ends the batch.
struct batch_failed {
  error why;
};

/// The effects of the batch can't be committed, by the fault of one of its messages.
struct batch_refused {
  error why;
};

class batch_run {
 public:
  batch_run(connection& connection, caller_transaction& transaction, const std::string& subscriber,
            const inbox_policy& policy, std::span<const inbox_message> batch)
      : connection_(connection),
        transaction_(transaction),
        subscriber_(subscriber),
        policy_(policy),
        batch_(batch),
        plan_(batch, policy) {}

  /// Leaves the transaction open. Throws batch_failed, batch_refused, and failures of SQLite.
  std::vector<inbox_outcome> run(const message_handler& handler) {
    for (const auto position : plan_.to_claim) take(position, handler);
    static_cast<void>(tables().sweep(swept_along));
    return std::move(plan_).finish(batch_);
  }

 private:
  caller_tables& tables() {
    auto found = transaction_.tables();
    if (!found) throw batch_failed{found.error()};
    return **found;
  }

  void take(std::size_t position, const message_handler& handler) {
    execute_policy terms;
    terms.lease = policy_.lease;
    const auto request = msg::request_of(subscriber_, batch_[position], policy_);
    auto wanted = claim_of(request, terms, unknown_policy::hold);
    wanted.retention = policy_.retention;
    const auto got = tables().take(wanted);
    // Those before it were handled already, and are not to be handled again for it.
    if (!got && got.error().code == errc::record_unreadable && batch_.size() > 1) {
      plan_.outcomes[position] = msg::unreadable(got.error().detail, policy_);
      return;
    }
    if (!got) throw batch_failed{got.error()};
    const auto& verdict = got->verdict;
    if (verdict.kind != verdict_kind::run) {
      plan_.outcomes[position] = msg::outcome_of(verdict);
      return;
    }
    auto outcome = handle(batch_[position], verdict.lease, handler);
    const auto done =
        tables().settle(settle_lease(wanted.id, verdict.lease, wanted.about, terms_of(outcome)));
    if (!done) throw batch_failed{done.error()};
    if (done->outcome != settle_outcome::done) throw batch_failed{ended_by_others({})};
    plan_.outcomes[position] = std::move(outcome);
  }

  inbox_outcome handle(const inbox_message& message, const lease& held,
                       const message_handler& handler) {
    connection_.run("SAVEPOINT onceguard_message");
    inbox_outcome out;
    try {
      handler(message, held);
      out = msg::handled(held.attempt);
    } catch (...) {
      out = msg::failure_of(held.attempt, policy_);
      // A statement of it that failed has rolled back everything, as ON CONFLICT ROLLBACK does. If
      // the handler has committed instead, the claim is found when the message is claimed again.
      if (!transaction_.open()) throw batch_refused{ended_by_others(out.reason)};
    }
    if (!transaction_.open()) throw batch_failed{ended_by_others(out.reason)};
    if (out.kind != inbox_result::handled) connection_.run("ROLLBACK TO onceguard_message");
    connection_.run("RELEASE onceguard_message");
    return out;
  }

  [[nodiscard]] settle_terms terms_of(const inbox_outcome& outcome) const {
    settle_terms out;
    out.retention = policy_.retention;
    out.by_application = true;
    if (outcome.kind == inbox_result::failed) {
      out.kind = settle_kind::fail;
      out.backoff = policy_.backoff;
      out.backoff_max = policy_.backoff_max;
    } else {
      out.answer = std::make_shared<const answer>(outcome.kind == inbox_result::handled
                                                      ? msg::handled_answer()
                                                      : msg::dead_answer(outcome.reason));
    }
    return out;
  }

  connection& connection_;
  caller_transaction& transaction_;
  const std::string& subscriber_;
  const inbox_policy& policy_;
  const std::span<const inbox_message> batch_;
  msg::batch_plan plan_;
};

using outcomes = std::vector<inbox_outcome>;

class batch_processor {
 public:
  batch_processor(sqlite3* database, const std::string& subscriber, const inbox_policy& policy)
      : database_(database), subscriber_(subscriber), policy_(policy) {}

  result<outcomes> process(std::span<const inbox_message> batch, const message_handler& handler) {
    try {
      auto all = attempt(batch, handler);
      const bool unreadable =
          !all && all.error().code == errc::record_unreadable && all.error().effect == effect::none;
      if (!unreadable || batch.size() == 1) return all;
      return one_by_one(batch, handler);
    } catch (const batch_refused& refused) {
      if (batch.size() > 1) return one_by_one(batch, handler);
      return give_up(batch, refused.why);
    }
  }

 private:
  result<outcomes> one_by_one(std::span<const inbox_message> batch,
                              const message_handler& handler) {
    return msg::one_by_one(batch, policy_, [&](auto message) { return process(message, handler); });
  }

  /// Throws batch_refused: nothing of the batch is there.
  result<outcomes> attempt(std::span<const inbox_message> batch, const message_handler& handler) {
    connection connection(database_);
    try {
      caller_transaction transaction(connection);
      const patience until{execute_policy{}};
      if (!transaction.begin(until)) {
        return rolled_back(failure(SQLITE_BUSY, "another connection writes"));
      }
      auto out = batch_run(connection, transaction, subscriber_, policy_, batch).run(handler);
      if (auto failed = transaction.commit(until)) {
        const bool by_constraint = failed->code == errc::conflict && failed->effect == effect::none;
        if (by_constraint) throw batch_refused{std::move(*failed)};
        return *failed;
      }
      return out;
    } catch (const batch_failed& failed) {
      return failed.why;
    } catch (const failure& failed) {
      return rolled_back(failed);
    }
  }

  /// Records that the only message of the batch has failed.
  result<outcomes> give_up(std::span<const inbox_message> batch, const error& why) {
    try {
      return attempt(
          batch, [&](const inbox_message&, const lease&) { throw std::runtime_error(why.detail); });
    } catch (const batch_refused& refused) {
      return refused.why;
    }
  }

  sqlite3* const database_;
  const std::string& subscriber_;
  const inbox_policy& policy_;
};

}  // namespace

inline namespace v1 {

inbox::inbox(sqlite3* database, std::string subscriber, inbox_policy policy)
    : database_(database), subscriber_(std::move(subscriber)), policy_(policy) {
  msg::check(subscriber_, policy_);
}

result<std::vector<inbox_outcome>> inbox::process(std::span<const inbox_message> batch,
                                                  const message_handler& handler) {
  if (connection(database_).in_transaction()) {
    return error(errc::conflict, "inbox: the connection is in a transaction");
  }
  return batch_processor(database_, subscriber_, policy_).process(batch, handler);
}

result<inbox_outcome> inbox::process(const inbox_message& message, const message_handler& handler) {
  return msg::only(process(std::span(&message, 1), handler));
}

}  // namespace v1
}  // namespace onceguard::sqlite
