// What a store promises about one key, told from what happened to that key, and from nothing else:
// a second opinion beside the pure functions, with which it shares no code. A fault of theirs that
// a store repeats faithfully is seen here.
#pragma once
#include <algorithm>
#include <optional>

#include <rapidcheck.h>

#include <onceguard/decide.hpp>

namespace onceguard::testing {

/// The story of one key. Each act is told with what the store replied; a reply that breaks the
/// promise fails the property. `now` is read once for each act.
class promise {
 public:
  void claimed(const claim& asked, const verdict& told, const instant& now) {
    RC_LOG() << now.lease << ": claim of " << asked.about->key << " by " << int{asked.claim_id[0]}
             << ": verdict " << int(told.kind) << ", token " << told.lease.token << "\n";
    const bool same_claim = run_ && run_->claim_id == asked.claim_id;
    if (same_claim && is_free()) {  // it was given back
      RC_ASSERT(told.kind == verdict_kind::refused);
      return;
    }
    swept(now);  // what has outlived its retention blocks no claim
    if (is_free()) {
      begin(asked, told, now, false);
    } else if (same_claim && run_->open) {
      RC_ASSERT(told.kind == verdict_kind::run);
      RC_ASSERT(told.lease.token == run_->token);
      RC_ASSERT(told.lease.claim_id == run_->claim_id);
    } else if (print_ != asked.about->print) {
      RC_ASSERT(told.kind == verdict_kind::mismatch);
      RC_ASSERT(!told.answer);
    } else if (done_) {
      RC_ASSERT(told.kind == verdict_kind::replay);
      RC_ASSERT(!told.answer == !first_answer_);
      if (first_answer_) RC_ASSERT(*told.answer == *first_answer_);
    } else if (failed_) {
      if (now.lease < not_before_) {
        RC_ASSERT(told.kind == verdict_kind::backoff);
      } else {
        begin(asked, told, now, false);
      }
    } else if (now.lease < run_->ends) {
      RC_ASSERT(told.kind == verdict_kind::busy);
    } else if (!run_->may_have_begun) {
      begin(asked, told, now, false);
    } else {
      met_unknown(asked, told, now);
    }
  }

  void settled(const settlement& how, const onceguard::settled& told, const instant& now) {
    RC_LOG() << now.lease << ": settle " << int(how.kind) << " of " << how.about->key << " by "
             << int{how.claim_id[0]} << " with token " << how.token << ": outcome "
             << int(told.outcome) << "\n";
    const bool by_claim_id_alone = how.token == 0;
    const bool own =
        run_ && run_->claim_id == how.claim_id && (by_claim_id_alone || run_->token == how.token);
    if (own && run_->open) {
      RC_ASSERT(told.outcome == settle_outcome::done);
      end_run(how, now);
    } else if (own) {
      settled_again(how, told, now);
    } else if (how.by_application) {
      RC_ASSERT(told.outcome == settle_outcome::stale);
    } else if (!known_ || is_over(now)) {
      settled_forgotten(how, told, now);
    } else {
      // Superseded: it changes nothing, and only who gives back what it never got need not know.
      RC_ASSERT(told.outcome == (by_claim_id_alone ? settle_outcome::done : settle_outcome::stale));
    }
  }

  void extended(const extension& how, bool told, const instant& now) {
    RC_LOG() << now.lease << ": extension by " << int{how.claim_id[0]} << ": " << told << "\n";
    const bool own = run_ && run_->open && !run_->given_up && run_->token == how.token &&
                     run_->claim_id == how.claim_id;
    RC_ASSERT(told == own);
    if (!own) return;
    if (how.dispatch) {
      if (run_->probing) earlier_doubt_ = false;  // the application said that nothing happened
      run_->probing = false;
      run_->may_have_begun = true;
    }
    lasts(now, how.lease);
  }

  void resolved(const resolution& how, const resolve_decision& told, const instant& now) {
    RC_LOG() << now.lease << ": resolved as " << (how.completed ? "done" : "not done")
             << (how.force ? " by force" : "") << ": outcome " << int(told.outcome) << "\n";
    if (is_free() || is_over(now)) {
      RC_ASSERT(told.outcome == resolve_outcome::not_found);
      return;
    }
    if (done_ && how.completed) {
      if (has_answer_ || !how.answer) {
        RC_ASSERT(told.outcome == resolve_outcome::already_completed);
        return;
      }
      RC_ASSERT(told.outcome == resolve_outcome::done);
      first_answer_ = how.answer;
      has_answer_ = true;
      by_hand_ = true;
      by_application_ = false;
      return;
    }
    const bool open = run_ && run_->open && !done_ && !failed_;
    const auto tail = how.completed ? 0 : run_timeout_;
    if (open && !how.force && now.lease < run_->ends + tail) {
      RC_ASSERT(told.outcome == resolve_outcome::running);
      return;
    }
    RC_ASSERT(told.outcome == resolve_outcome::done);
    if (run_) run_->open = false;
    if (how.completed) {
      failed_ = false;
      complete(how.answer, how.answer != nullptr, now.wall + how.retention.count());
      by_hand_ = true;
    } else {
      set_free(now);
    }
  }

  /// Nothing is left of what is over, but that tokens grow.
  void swept(const instant& now) {
    if (is_over(now)) begin_anew();
  }

 private:
  struct attempt {
    onceguard::token token = 0;
    onceguard::claim_id claim_id{};
    std::int64_t ends = 0;
    bool open = true;  ///< nobody has said how it ended
    bool given_up = false;
    bool probing = false;
    bool may_have_begun = true;
  };

  [[nodiscard]] bool is_free() const { return !done_ && !failed_ && (!run_ || !run_->open); }

  /// Retention ends what is settled; what is not, only where a rule says so, and after its lease.
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

  void begin(const claim& asked, const verdict& told, const instant& now, bool probing) {
    RC_ASSERT(told.kind == verdict_kind::run);
    RC_ASSERT(told.lease.token > last_token_);
    RC_ASSERT(told.lease.claim_id == asked.claim_id);
    RC_ASSERT(told.lease.attempt == attempts_ + 1);
    RC_ASSERT(told.lease.probe == probing);
    attempts_ = told.lease.attempt;
    last_token_ = told.lease.token;
    run_ = attempt();
    run_->token = told.lease.token;
    run_->claim_id = asked.claim_id;
    run_->probing = probing;
    run_->may_have_begun = probing || !told.lease.started;
    RC_ASSERT(!told.lease.started || asked.into_started);
    known_ = true;
    failed_ = false;
    print_ = asked.about->print;
    run_timeout_ = asked.about->run_timeout.count();
    unknown_retention_ = asked.unknown_retention.count();
    ask_not_before_ = 0;
    lasts(now, asked.lease);
  }

  void met_unknown(const claim& asked, const verdict& told, const instant& now) {
    const bool asks = asked.unknown == unknown_policy::probe && now.lease >= ask_not_before_;
    if (asked.unknown == unknown_policy::hold ||
        (asked.unknown == unknown_policy::probe && !asks)) {
      RC_ASSERT(told.kind == verdict_kind::unknown);
      return;
    }
    earlier_doubt_ = true;
    begin(asked, told, now, asks);
    RC_ASSERT(!told.lease.started);
  }

  void lasts(const instant& now, milliseconds lease) {
    run_->ends = now.lease + lease.count();
    until_ = unknown_retention_ == 0 ? 0 : now.wall + lease.count() + unknown_retention_;
  }

  void complete(answer_ptr what, bool has_answer, std::int64_t until) {
    done_ = true;
    known_ = true;
    first_answer_ = std::move(what);
    has_answer_ = has_answer;
    by_hand_ = by_application_ = false;
    until_ = until;
  }

  /// Only the number of attempts and the claim that was given back are remembered, for an hour.
  void set_free(const instant& now) {
    done_ = failed_ = earlier_doubt_ = false;
    first_answer_ = nullptr;
    has_answer_ = false;
    failures_ = 0;
    if (run_) run_->open = false;
    until_ = now.wall + 3'600'000;
  }

  void give_up(const settlement& how, const instant& now) {
    run_->given_up = true;
    run_->probing = false;
    run_->may_have_begun = true;
    ask_not_before_ = now.lease + how.probe_pause.count();
    lasts(now, milliseconds(0));
  }

  void end_run(const settlement& how, const instant& now) {
    switch (how.kind) {
      case settle_kind::complete:
        run_->open = false;
        earlier_doubt_ = false;
        failures_ = 0;
        complete(how.answer, how.kept != answer_kept::none, now.wall + how.retention.count());
        by_application_ = how.by_application;
        return;
      case settle_kind::fail: {
        run_->open = false;
        failed_ = true;
        auto pause = how.backoff.count();
        for (std::uint32_t i = 0; i < failures_ && pause < how.backoff_max.count(); ++i) pause *= 2;
        not_before_ = now.lease + std::min(pause, how.backoff_max.count());
        ++failures_;
        until_ = now.wall + how.retention.count();
        return;
      }
      case settle_kind::release:
        return earlier_doubt_ ? give_up(how, now) : set_free(now);
      case settle_kind::abandon: {
        const bool surely_not = !run_->may_have_begun && !earlier_doubt_;
        return surely_not ? set_free(now) : give_up(how, now);
      }
    }
  }

  /// By a holder whose lease has ended, and nobody has had the key since.
  void settled_again(const settlement& how, const onceguard::settled& told, const instant& now) {
    const bool free = is_free();
    const bool alike = (how.kind == settle_kind::complete && done_ && !by_hand_) ||
                       (how.kind == settle_kind::fail && failed_) ||
                       (how.kind == settle_kind::release && free);
    if (alike) {
      RC_ASSERT(told.outcome == settle_outcome::done);
      // Its application has said it first: what the holder adds is an answer where none was given.
      const bool adds = done_ && by_application_ && !how.by_application && !has_answer_;
      if (adds && how.kept != answer_kept::none) {
        first_answer_ = how.answer;
        has_answer_ = true;
      }
    } else if (free && how.kind == settle_kind::complete && !how.by_application) {
      RC_ASSERT(told.outcome == settle_outcome::incident);
      print_ = how.about->print;
      complete(how.answer, how.kept != answer_kept::none, now.wall + how.retention.count());
    } else {
      RC_ASSERT(told.outcome == settle_outcome::stale);
    }
  }

  /// The record is gone, or what stands there has outlived its retention. That work took effect is
  /// a fact all the same.
  void settled_forgotten(const settlement& how, const onceguard::settled& told,
                         const instant& now) {
    if (how.kind == settle_kind::release) {
      RC_ASSERT(told.outcome == settle_outcome::done);
      if (known_) return;  // still in the store, though over
      known_ = true;
      run_ = attempt();
      run_->token = how.token;
      run_->claim_id = how.claim_id;
      attempts_ = 1;
      return set_free(now);
    }
    RC_ASSERT(told.outcome == settle_outcome::incident);
    begin_anew();
    known_ = true;
    run_ = attempt();
    run_->token = how.token;
    run_->claim_id = how.claim_id;
    attempts_ = 1;
    print_ = how.about->print;
    run_timeout_ = how.about->run_timeout.count();
    end_run(how, now);
  }

  bool known_ = false;  // something is told of this key
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
  bool earlier_doubt_ = false;  // of an attempt before this one
};

}  // namespace onceguard::testing
