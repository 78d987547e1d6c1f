// A saga: the recovery points of an operation in steps, the flow of an attempt that continues
// behind the last of them, and the way back by the compensations.
#pragma once
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/execute.hpp>

#include "execute/step_progress.hpp"

namespace onceguard {

/// Thrown through the caller's work when its attempt is over.
struct attempt_ended {
  error why;
};

/// One attempt. The database says how a transaction is made; the rest is the same for each.
class step_flow : public steps {
 public:
  step_flow(const record_id& id, const lease& held, step_progress progress)
      : id_(id), held_(held), progress_(std::move(progress)) {}

  std::string step(std::string_view name, const callable<std::string()>& work,
                   const compensation_work& compensation) override;
  [[nodiscard]] std::string key_for(std::string_view purpose) const override;
  [[nodiscard]] const lease& held() const noexcept override { return held_; }

  /// Runs the work to its end, or the compensations to theirs, and stores the answer. The verdict
  /// of the claim becomes that of the call. Exceptions of the work are thrown.
  [[nodiscard]] result<verdict> run(const steps_work& work, verdict claimed);

 protected:
  [[noreturn]] void on_failure(answer reply) override;
  /// In one transaction: calls `progress`, writes its result into the record, and commits.
  /// `progress` does the step's work, and returns the bytes that the record keeps from then on.
  /// `step`: its name, for people. Throws attempt_ended, and whatever `progress` throws.
  virtual void commit_progress(std::string_view step,
                               const std::function<std::string()>& progress) = 0;
  /// Completes the record. Throws attempt_ended.
  virtual void complete(const answer_ptr& reply) = 0;
  /// Ends the lease now, so that the next attempt need not wait for its deadline.
  virtual void give_up() noexcept = 0;

 private:
  [[nodiscard]] answer_ptr come_to_an_end(const steps_work& work);
  /// Steps that are done and not compensated: those that the work has to pass.
  [[nodiscard]] std::size_t uncompensated() const noexcept {
    return progress_.done.size() - progress_.compensated;
  }
  void check_open(const char* call) const;
  std::string pass_earlier(std::string_view name, const compensation_work& compensation);
  void run_step(std::string_view name, const callable<std::string()>& work);
  [[noreturn]] void turn_back(answer_ptr reply);
  /// Whether the record has to get the failure's answer first.
  enum class mark : std::uint8_t { missing, stored };
  [[noreturn]] void compensate(mark of_failure);
  /// Commits and remembers how the attempt ended, if it did.
  void commit(std::string_view step, const std::function<std::string()>& progress);

  const record_id id_;
  const lease held_;
  step_progress progress_;
  std::vector<compensation_work> compensations_;  // of the first steps, as far as the work came
  answer_ptr failed_in_step_;  // fail() was called in the work of the step that runs now
  bool in_transaction_ = false;
  bool settled_ = false;  // the lease is over, or no longer this attempt's
  std::exception_ptr end_;
};

/// The error for an attempt whose lease has been superseded.
[[nodiscard]] error overtaken();

}  // namespace onceguard
