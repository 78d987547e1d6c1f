// The way of a request as a value: which step follows which. Gateway and middleware take the steps;
// this says no more than their order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace onceguard::http {

enum class step : std::uint8_t {
  admit,          ///< from the head: the route, whether it guards the request, key and scope
  receive,        ///< the body
  identify,       ///< what the body says of the key; then the operation
  recall,         ///< is its answer in memory?
  find,           ///< is it in the store? Of a request that may be answered, but not run
  claim,          ///< by which right it runs
  probe,          ///< ask the application what became of an earlier attempt, under the lease
  run,            ///< the work, under the lease
  settle,         ///< how the lease ends
  answer,         ///< as the outcome says
  refuse,         ///< with a problem; nothing was claimed
  challenge,      ///< the sender checks the address: it gets back what it expects
  forward,        ///< the work without a record, while the body arrives
  observe,        ///< the same, compared on the side
  run_unguarded,  ///< the work without a record; the body is there
  over,
};
inline constexpr std::size_t steps = 16;
[[nodiscard]] std::string_view name_of(step one) noexcept;

/// How a step ended.
enum class step_end : std::uint8_t {
  done,        ///< there is but one way on
  guarded,     ///< the request has a key and a scope, or may get them from its body
  unguarded,   ///< no record guards it
  observed,    ///< it is only observed
  refused,     ///< it gets a problem
  gone,        ///< there is nobody to answer
  late,        ///< it came too late to run: it gets the answer of one that came in time
  challenged,  ///< it asks for no work
  known,       ///< its outcome is known
  unknown,     ///< it is not
  granted,     ///< a lease to run
  fenced,      ///< a lease to ask
};
inline constexpr std::size_t step_ends = 12;

/// The step after one that ended so; empty: it can't end so.
[[nodiscard]] std::optional<step> step_after(step before, step_end end) noexcept;

/// Where a request is on its way.
class flow {
 public:
  [[nodiscard]] step at() const noexcept { return step_; }
  [[nodiscard]] bool is_over() const noexcept { return step_ == step::over; }
  /// Throws std::logic_error if the step can't end so.
  void go_on(step_end end);

 private:
  step step_ = step::admit;
};

}  // namespace onceguard::http
