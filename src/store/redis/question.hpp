// A request that is sent by itself: everything but claims, settles and extensions.
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "store/redis/request.hpp"

namespace onceguard::redis {

/// The properties of a question.
struct question_traits {
  bool repeatable = true;           ///< asking it again changes nothing
  bool carries_generation = false;  ///< the second word of its reply
  std::optional<server_pin> pin{};
};

/// `Write`: string&, script_calls, keyspace → appends the call. `Read`: reply → result<Outcome>.
template <class Outcome, class Write, class Read>
class question final : public job, private request {
 public:
  question(question_traits traits, std::optional<record_id> about, milliseconds timeout,
           Write write, Read read)
      : job(timeout),
        traits_(std::move(traits)),
        about_(about),
        write_(std::move(write)),
        read_(std::move(read)) {}

  [[nodiscard]] std::size_t size() const noexcept override { return 1; }
  [[nodiscard]] request& part(std::size_t) noexcept override { return *this; }

  [[nodiscard]] result<Outcome> outcome() {
    if (!lapse()) return std::move(*outcome_);
    auto why = *lapse();
    if (traits_.repeatable) why.effect = effect::none;  // it only looks
    return why;
  }

 private:
  [[nodiscard]] const record_id* about() const noexcept override {
    return about_ ? &*about_ : nullptr;
  }
  void write(std::string& text, const script_calls& scripts, const keyspace& names) const override {
    write_(text, scripts, names);
  }
  [[nodiscard]] bool repeatable() const noexcept override { return traits_.repeatable; }
  [[nodiscard]] bool carries_generation() const noexcept override {
    return traits_.carries_generation;
  }
  [[nodiscard]] const server_pin* pin() const noexcept override {
    return traits_.pin ? &*traits_.pin : nullptr;
  }
  void arrived(const reply& reply) override { outcome_.emplace(read_(reply)); }
  void fail(const error& why) override {
    auto mine = why;
    if (traits_.repeatable) mine.effect = effect::none;
    outcome_.emplace(std::move(mine));
  }

  const question_traits traits_;
  const std::optional<record_id> about_;
  Write write_;
  Read read_;
  std::optional<result<Outcome>> outcome_;
};

template <class Outcome, class Write, class Read>
[[nodiscard]] auto make_question(question_traits traits, std::optional<record_id> about,
                                 milliseconds timeout, Write write, Read read) {
  return std::make_shared<question<Outcome, Write, Read>>(traits, about, timeout, std::move(write),
                                                          std::move(read));
}

}  // namespace onceguard::redis
