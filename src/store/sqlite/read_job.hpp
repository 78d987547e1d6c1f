// The jobs that the reader thread carries out for callers: queries that write nothing.
#pragma once
#include <optional>
#include <utility>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "store/call.hpp"
#include "store/sqlite/record_queries.hpp"

namespace onceguard::sqlite {

class read_job : public call {
 public:
  virtual void carry_out(record_queries& queries) = 0;
  virtual void fail(const error& why) = 0;
};

/// `Ask` is called with the queries and returns a result<Outcome>.
template <class Outcome, class Ask>
class question final : public read_job {
 public:
  explicit question(Ask ask) : ask_(std::move(ask)) {}

  [[nodiscard]] result<Outcome> outcome() {
    if (lapse()) {
      auto why = *lapse();
      why.effect = effect::none;
      return why;
    }
    return std::move(*outcome_);
  }

 private:
  void carry_out(record_queries& queries) override { outcome_.emplace(ask_(queries)); }
  void fail(const error& why) override { outcome_.emplace(why); }

  Ask ask_;
  std::optional<result<Outcome>> outcome_;
};

template <class Outcome, class Ask>
[[nodiscard]] std::shared_ptr<question<Outcome, Ask>> make_question(Ask ask) {
  return std::make_shared<question<Outcome, Ask>>(std::move(ask));
}

}  // namespace onceguard::sqlite
