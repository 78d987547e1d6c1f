#include "execute/step_flow.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "execute/request.hpp"

namespace onceguard {
namespace {

/// Thrown through the caller's work: everything that was done is compensated, and the record is
/// completed.
struct compensated {};

/// Thrown through the work of a step, so that its transaction is rolled back.
struct step_failed {};

class raised {
 public:
  explicit raised(bool& flag) : flag_(flag) { flag_ = true; }
  raised(const raised&) = delete;
  raised& operator=(const raised&) = delete;
  ~raised() { flag_ = false; }

 private:
  bool& flag_;
};

[[noreturn]] void misuse(const std::string& description) {
  throw std::logic_error("execute_steps: " + description);
}

}  // namespace

// --- the way forward ------------------------------------------------------------------------

std::string step_flow::step(std::string_view name, const callable<std::string()>& work,
                            const compensation_work& compensation) {
  check_open("step");
  if (compensations_.size() < uncompensated()) return pass_earlier(name, compensation);
  const auto same = [&](const step_done& one) { return one.name == name; };
  if (std::any_of(progress_.done.begin(), progress_.done.end(), same)) {
    misuse("a second step '" + std::string(name) + "'");
  }
  try {
    run_step(name, work);
  } catch (...) {
    if (!failed_in_step_ || end_) throw;
    turn_back(std::move(failed_in_step_));
  }
  compensations_.push_back(compensation);
  return progress_.done.back().stored;
}

std::string step_flow::pass_earlier(std::string_view name, const compensation_work& compensation) {
  const auto& earlier = progress_.done[compensations_.size()];
  if (earlier.name != name) {
    misuse("an earlier attempt did '" + earlier.name + "' where this one does '" +
           std::string(name) + "'");
  }
  compensations_.push_back(compensation);
  if (progress_.failure && compensations_.size() == uncompensated()) compensate(mark::stored);
  return earlier.stored;
}

void step_flow::run_step(std::string_view name, const callable<std::string()>& work) {
  auto with_this = progress_;
  with_this.done.push_back({std::string(name), {}});
  commit(name, [&] {
    failed_in_step_.reset();
    with_this.done.back().stored = work();
    if (failed_in_step_) throw step_failed{};  // the work has hidden it
    return encode_progress(with_this);
  });
  progress_ = std::move(with_this);
}

void step_flow::commit(std::string_view step, const std::function<std::string()>& progress) {
  try {
    const raised while_it_runs(in_transaction_);
    commit_progress(step, progress);
  } catch (const attempt_ended&) {
    settled_ = true;
    end_ = std::current_exception();
    throw;
  }
}

void step_flow::check_open(const char* call) const {
  if (end_) std::rethrow_exception(end_);
  if (in_transaction_) misuse(std::string(call) + " within a step or a compensation");
}

std::string step_flow::key_for(std::string_view purpose) const {
  base::sha256 hash;
  hash.part("onceguard step 1").part(base::as_chars(id_)).part(purpose);
  return base::to_hex(hash.finish());
}

// --- the way back ---------------------------------------------------------------------------

void step_flow::on_failure(answer reply) {
  if (reply.status < 200) throw std::invalid_argument("fail: a status from 200 to 999");
  auto kept = checked(std::move(reply));
  if (in_transaction_ && !progress_.failure) {
    failed_in_step_ = std::move(kept);
    throw step_failed{};
  }
  check_open("fail");
  turn_back(std::move(kept));
}

void step_flow::turn_back(answer_ptr reply) {
  if (compensations_.size() < uncompensated()) {
    misuse("the work fails before the step '" + progress_.done[compensations_.size()].name +
           "', which an earlier attempt has done: what may come out differently in another attempt "
           "belongs into a step");
  }
  progress_.failure = std::move(reply);
  const auto named = [](const compensation_work& one) { return one != nullptr; };
  const bool any = std::any_of(compensations_.begin(), compensations_.end(), named);
  compensate(any ? mark::missing : mark::stored);
}

void step_flow::compensate(mark of_failure) {
  try {
    if (of_failure == mark::missing) {
      commit("compensating", [&] { return encode_progress(progress_); });
    }
    while (uncompensated() > 0) {
      const auto& next = progress_.done[uncompensated() - 1];
      const auto& compensation = compensations_[uncompensated() - 1];
      ++progress_.compensated;
      if (!compensation) continue;
      commit("compensated " + next.name, [&] {
        compensation(next.stored);
        return encode_progress(progress_);
      });
    }
    settled_ = true;
    complete(progress_.failure);
    throw compensated{};
  } catch (...) {
    end_ = std::current_exception();
    throw;
  }
}

// --- the whole attempt ----------------------------------------------------------------------

result<verdict> step_flow::run(const steps_work& work, verdict claimed) {
  try {
    claimed.answer = come_to_an_end(work);
    claimed.kept = answer_kept::full;
    return claimed;
  } catch (const attempt_ended& over) {
    return over.why;
  }
}

answer_ptr step_flow::come_to_an_end(const steps_work& work) {
  try {
    if (progress_.failure && uncompensated() == 0) compensate(mark::stored);
    auto reply = checked(work(*this));
    if (end_) std::rethrow_exception(end_);
    if (progress_.failure) {
      misuse("the work ends before the step '" + progress_.done[compensations_.size()].name +
             "', which is to be compensated");
    }
    settled_ = true;
    complete(reply);
    return reply;
  } catch (const compensated&) {
    return progress_.failure;
  } catch (...) {
    if (!settled_) give_up();
    throw;
  }
}

error overtaken() {
  return error(errc::write_conflict,
               "execute_steps: another attempt has taken this operation over; call again",
               effect::unknown);
}

}  // namespace onceguard
