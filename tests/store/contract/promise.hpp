// What a store promises about one key, derived only from what happened to that key: a second
// opinion beside the pure functions, with which it shares no code. A store that faithfully repeats
// a fault of the pure functions fails here.
#pragma once
#include <algorithm>
#include <optional>

#include <rapidcheck.h>

#include <onceguard/decide.hpp>

namespace onceguard::testing {

/// The history of one key. Each function takes an act and the store's reply; a reply that breaks
/// the promise fails the property. `now` is read once for each act.
class promise {
 public:
  void claimed(const claim& request, const verdict& verdict, const instant& now) {
    RC_LOG() << now.lease << ": claim of " << request.about->key << " by "
             << int{request.claim_id[0]} << ": verdict " << int(verdict.kind) << ", token "
             << verdict.lease.token << "\n";
    const bool same_claim = run_ && run_->claim_id == request.claim_id;
    if (same_claim && is_free()) {  // the lease was given back
      RC_ASSERT(verdict.kind == verdict_kind::refused);
      return;
    }
    swept(now);  // an expired record blocks no claim
    if (is_free()) {
      begin(request, verdict, now, false);
    } else if (same_claim && run_->open) {
      RC_ASSERT(verdict.kind == verdict_kind::run);
      RC_ASSERT(verdict.lease.token == run_->token);
      RC_ASSERT(verdict.lease.claim_id == run_->claim_id);
    } else if (print_ != request.about->print) {
      RC_ASSERT(verdict.kind == verdict_kind::mismatch);
      RC_ASSERT(!verdict.answer);
    } else if (done_) {
      RC_ASSERT(verdict.kind == verdict_kind::replay);
      RC_ASSERT(!verdict.answer == !first_answer_);
      if (first_answer_) RC_ASSERT(*verdict.answer == *first_answer_);
    } else if (failed_) {
      if (now.lease < not_before_) {
        RC_ASSERT(verdict.kind == verdict_kind::backoff);
      } else {
        begin(request, verdict, now, false);
      }
    } else if (now.lease < run_->ends) {
      RC_ASSERT(verdict.kind == verdict_kind::busy);
    } else if (!run_->may_have_begun) {
      begin(request, verdict, now, false);
    } else {
      met_unknown(request, verdict, now);
    }
  }

  void settled(const settlement& request, const onceguard::settled& reply, const instant& now) {
    RC_LOG() << now.lease << ": settle " << int(request.kind) << " of " << request.about->key
             << " by " << int{request.claim_id[0]} << " with token " << request.token
             << ": outcome " << int(reply.outcome) << "\n";
    const bool by_claim_id_alone = request.token == 0;
    const bool own = run_ && run_->claim_id == request.claim_id &&
                     (by_claim_id_alone || run_->token == request.token);
    if (own && run_->open) {
      RC_ASSERT(reply.outcome == settle_outcome::done);
      end_run(request, now);
    } else if (own) {
      settled_again(request, reply, now);
    } else if (request.by_application) {
      RC_ASSERT(reply.outcome == settle_outcome::stale);
    } else if (!known_ || is_over(now)) {
      settled_forgotten(request, reply, now);
    } else {
      // The holder is superseded: the settle changes nothing. The reply is `stale`, except to a
      // release by claim id alone, whose caller may never have had the lease.
      RC_ASSERT(reply.outcome ==
                (by_claim_id_alone ? settle_outcome::done : settle_outcome::stale));
    }
  }

  void extended(const extension& request, bool reported, const instant& now) {
    RC_LOG() << now.lease << ": extension by " << int{request.claim_id[0]} << ": " << reported
             << "\n";
    const bool own = run_ && run_->open && !run_->given_up && run_->token == request.token &&
                     run_->claim_id == request.claim_id;
    RC_ASSERT(reported == own);
    if (!own) return;
    if (request.dispatch) {
      if (run_->probing) earlier_in_doubt_ = false;  // the application reported `not done`
      run_->probing = false;
      run_->may_have_begun = true;
    }
    lasts(now, request.lease);
  }

  void resolved(const resolution& request, const resolve_decision& decision, const instant& now) {
    RC_LOG() << now.lease << ": resolved as " << (request.completed ? "done" : "not done")
             << (request.force ? " by force" : "") << ": outcome " << int(decision.outcome) << "\n";
    if (is_free() || is_over(now)) {
      RC_ASSERT(decision.outcome == resolve_outcome::not_found);
      return;
    }
    if (done_ && request.completed) {
      if (has_answer_ || !request.answer) {
        RC_ASSERT(decision.outcome == resolve_outcome::already_completed);
        return;
      }
      RC_ASSERT(decision.outcome == resolve_outcome::done);
      first_answer_ = request.answer;
      has_answer_ = true;
      by_hand_ = true;
      by_application_ = false;
      return;
    }
    const bool open = run_ && run_->open && !done_ && !failed_;
    const auto tail = request.completed ? 0 : run_timeout_;
    if (open && !request.force && now.lease < run_->ends + tail) {
      RC_ASSERT(decision.outcome == resolve_outcome::running);
      return;
    }
    RC_ASSERT(decision.outcome == resolve_outcome::done);
    if (run_) run_->open = false;
    if (request.completed) {
      failed_ = false;
      complete(request.answer, request.answer != nullptr, now.wall + request.retention.count());
      by_hand_ = true;
    } else {
      set_free(now);
    }
  }

  /// Forgets an expired record. Only the last token stays, as tokens must grow.
  void swept(const instant& now) {
    if (is_over(now)) begin_anew();
  }

 private:
  struct attempt {
    onceguard::token token = 0;
    onceguard::claim_id claim_id{};
    std::int64_t ends = 0;
    bool open = true;  ///< the attempt has not been settled or resolved
    bool given_up = false;
    bool probing = false;
    bool may_have_begun = true;
  };

  [[nodiscard]] bool is_free() const { return !done_ && !failed_ && (!run_ || !run_->open); }

  /// Retention ends settled records. Unsettled records end only if an unknown retention is set, and
  /// only after their lease.
  [[nodiscard]] bool is_over(const instant& now) const {
    if (!known_ || until_ == 0 || now.wall < until_) return false;
    const bool unsettled = !done_ && !failed_ && run_ && run_->open;
    return !unsettled || now.lease >= run_->ends;
  }

  void begin_anew() {
    const auto tokens = last_token_;
    *this = promise();
    last_token_ = tokens;
  }

  void begin(const claim& request, const verdict& verdict, const instant& now, bool probing) {
    RC_ASSERT(verdict.kind == verdict_kind::run);
    RC_ASSERT(verdict.lease.token > last_token_);
    RC_ASSERT(verdict.lease.claim_id == request.claim_id);
    RC_ASSERT(verdict.lease.attempt == attempts_ + 1);
    RC_ASSERT(verdict.lease.probe == probing);
    attempts_ = verdict.lease.attempt;
    last_token_ = verdict.lease.token;
    run_ = attempt();
    run_->token = verdict.lease.token;
    run_->claim_id = request.claim_id;
    run_->probing = probing;
    run_->may_have_begun = probing || !verdict.lease.started;
    RC_ASSERT(!verdict.lease.started || request.into_started);
    known_ = true;
    failed_ = false;
    print_ = request.about->print;
    run_timeout_ = request.about->run_timeout.count();
    unknown_retention_ = request.unknown_retention.count();
    ask_not_before_ = 0;
    lasts(now, request.lease);
  }

  void met_unknown(const claim& request, const verdict& verdict, const instant& now) {
    const bool asks = request.unknown == unknown_policy::probe && now.lease >= ask_not_before_;
    if (request.unknown == unknown_policy::hold ||
        (request.unknown == unknown_policy::probe && !asks)) {
      RC_ASSERT(verdict.kind == verdict_kind::unknown);
      return;
    }
    earlier_in_doubt_ = true;
    begin(request, verdict, now, asks);
    RC_ASSERT(!verdict.lease.started);
  }

  void lasts(const instant& now, milliseconds lease) {
    run_->ends = now.lease + lease.count();
    until_ = unknown_retention_ == 0 ? 0 : now.wall + lease.count() + unknown_retention_;
  }

  void complete(answer_ptr answer, bool has_answer, std::int64_t until) {
    done_ = true;
    known_ = true;
    first_answer_ = std::move(answer);
    has_answer_ = has_answer;
    by_hand_ = by_application_ = false;
    until_ = until;
  }

  /// A free key keeps only the number of attempts and the released claim, for an hour.
  void set_free(const instant& now) {
    done_ = failed_ = earlier_in_doubt_ = false;
    first_answer_ = nullptr;
    has_answer_ = false;
    failures_ = 0;
    if (run_) run_->open = false;
    until_ = now.wall + 3'600'000;
  }

  void give_up(const settlement& request, const instant& now) {
    run_->given_up = true;
    run_->probing = false;
    run_->may_have_begun = true;
    ask_not_before_ = now.lease + request.probe_pause.count();
    lasts(now, milliseconds(0));
  }

  void end_run(const settlement& request, const instant& now) {
    switch (request.kind) {
      case settle_kind::complete:
        run_->open = false;
        earlier_in_doubt_ = false;
        failures_ = 0;
        complete(request.answer, request.kept != answer_kept::none,
                 now.wall + request.retention.count());
        by_application_ = request.by_application;
        return;
      case settle_kind::fail: {
        run_->open = false;
        failed_ = true;
        auto pause = request.backoff.count();
        for (std::uint32_t i = 0; i < failures_ && pause < request.backoff_max.count(); ++i)
          pause *= 2;
        not_before_ = now.lease + std::min(pause, request.backoff_max.count());
        ++failures_;
        until_ = now.wall + request.retention.count();
        return;
      }
      case settle_kind::release:
        return earlier_in_doubt_ ? give_up(request, now) : set_free(now);
      case settle_kind::abandon: {
        const bool surely_not = !run_->may_have_begun && !earlier_in_doubt_;
        return surely_not ? set_free(now) : give_up(request, now);
      }
    }
  }

  /// A settle by a holder whose lease has ended, if no other claim has had the key since.
  void settled_again(const settlement& request, const onceguard::settled& reply,
                     const instant& now) {
    const bool free = is_free();
    const bool alike = (request.kind == settle_kind::complete && done_ && !by_hand_) ||
                       (request.kind == settle_kind::fail && failed_) ||
                       (request.kind == settle_kind::release && free);
    if (alike) {
      RC_ASSERT(reply.outcome == settle_outcome::done);
      // The application completed the record first. The holder adds an answer only if the
      // application gave none.
      const bool adds = done_ && by_application_ && !request.by_application && !has_answer_;
      if (adds && request.kept != answer_kept::none) {
        first_answer_ = request.answer;
        has_answer_ = true;
      }
    } else if (free && request.kind == settle_kind::complete && !request.by_application) {
      RC_ASSERT(reply.outcome == settle_outcome::incident);
      print_ = request.about->print;
      complete(request.answer, request.kept != answer_kept::none,
               now.wall + request.retention.count());
    } else {
      RC_ASSERT(reply.outcome == settle_outcome::stale);
    }
  }

  /// A settle when the record is gone or has expired. The work took effect all the same, so the
  /// settle is recorded.
  void settled_forgotten(const settlement& request, const onceguard::settled& reply,
                         const instant& now) {
    if (request.kind == settle_kind::release) {
      RC_ASSERT(reply.outcome == settle_outcome::done);
      // Of a lease that was had, an expired record is left as it is.
      if (known_ && request.token != 0) return;
      begin_anew();
      known_ = true;
      run_ = attempt();
      run_->token = request.token;
      run_->claim_id = request.claim_id;
      attempts_ = 1;
      return set_free(now);
    }
    // The answer of a later lease has had its time: that of an earlier one begins no other.
    if (known_ && done_ && run_ && run_->token > request.token) {
      RC_ASSERT(reply.outcome == settle_outcome::stale);
      return;
    }
    RC_ASSERT(reply.outcome == settle_outcome::incident);
    begin_anew();
    known_ = true;
    run_ = attempt();
    run_->token = request.token;
    run_->claim_id = request.claim_id;
    attempts_ = 1;
    print_ = request.about->print;
    run_timeout_ = request.about->run_timeout.count();
    end_run(request, now);
  }

  bool known_ = false;  // this key has a history
  std::optional<attempt> run_;
  token last_token_ = 0;
  std::uint32_t attempts_ = 0;
  fingerprint print_;
  std::int64_t run_timeout_ = 0;
  std::int64_t unknown_retention_ = 0;
  std::int64_t until_ = 0;
  bool done_ = false, has_answer_ = false, by_hand_ = false, by_application_ = false;
  answer_ptr first_answer_;
  bool failed_ = false;
  std::uint32_t failures_ = 0;
  std::int64_t not_before_ = 0;
  std::int64_t ask_not_before_ = 0;
  bool earlier_in_doubt_ = false;  // an earlier attempt is in doubt
};

}  // namespace onceguard::testing
