// A call that is sent by itself: everything but claims, settles and extensions.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <onceguard/error.hpp>

#include "store/postgres/job.hpp"
#include "store/postgres/parameters.hpp"
#include "store/postgres/rows.hpp"

namespace onceguard::postgres {

class dispatcher;

/// What the pool knows when a question is sent or answered.
struct surroundings {
  dispatcher& at;
  bool expiry_paused = false;
};

class question : public job {
 public:
  using job::job;

  [[nodiscard]] virtual const char* statement() const noexcept = 0;
  [[nodiscard]] virtual parameters encode(const surroundings& now) const = 0;
  /// False: another transaction is writing the record, and the question must be repeated.
  [[nodiscard]] virtual bool arrived(const rows& results, const surroundings& now) = 0;
  virtual void fail(const error& why) = 0;
  /// Whether the question may be repeated when its effect is unknown.
  [[nodiscard]] virtual bool repeatable() const noexcept = 0;

  void queue_in(dispatcher& dispatcher, const call_ptr& self) override;

  steady_time not_before{};  ///< the next try
  std::uint32_t tries = 0;
};

/// `Encode`: surroundings → parameters. `Read`: rows, surroundings → optional<result<Outcome>>,
/// empty if a record is locked.
template <class Outcome, class Encode, class Read>
class question_sent final : public question {
 public:
  question_sent(const char* statement, bool repeatable, milliseconds timeout, Encode encode,
                Read read)
      : question(timeout),
        statement_(statement),
        repeatable_(repeatable),
        encode_(std::move(encode)),
        read_(std::move(read)) {}

  [[nodiscard]] result<Outcome> outcome() {
    if (!lapse()) return std::move(*outcome_);
    auto why = *lapse();
    if (repeatable_) why.effect = effect::none;  // it only looks
    return why;
  }

 private:
  [[nodiscard]] const char* statement() const noexcept override { return statement_; }
  [[nodiscard]] parameters encode(const surroundings& now) const override { return encode_(now); }
  [[nodiscard]] bool arrived(const rows& results, const surroundings& now) override {
    outcome_ = read_(results, now);
    return outcome_.has_value();
  }
  void fail(const error& why) override { outcome_.emplace(why); }
  [[nodiscard]] bool repeatable() const noexcept override { return repeatable_; }

  const char* const statement_;
  const bool repeatable_;
  Encode encode_;
  Read read_;
  std::optional<result<Outcome>> outcome_;
};

template <class Outcome, class Encode, class Read>
[[nodiscard]] auto make_question(const char* statement, bool repeatable, milliseconds timeout,
                                 Encode encode, Read read) {
  return std::make_shared<question_sent<Outcome, Encode, Read>>(statement, repeatable, timeout,
                                                                std::move(encode), std::move(read));
}

}  // namespace onceguard::postgres
