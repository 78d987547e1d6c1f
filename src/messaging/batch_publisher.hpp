// A publisher that connects when it is needed, and says what became of each message of a batch.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <onceguard/broker.hpp>

namespace onceguard::messaging {

/// What became of a message of a batch.
struct refusal {
  refusal() = default;
  refusal(std::string why) : text(std::move(why)) {}  // NOLINT(google-explicit-constructor)

  /// Empty: it is stored. Otherwise why it is not, or why nobody knows.
  std::string text;
  /// It is not the message's fault: the destination was full, or away, before it took this one.
  bool for_now = false;
  bool away = false;       ///< who takes it says that it takes none, whichever message it is
  bool blameless = false;  ///< as in inbox_outcome

  [[nodiscard]] bool empty() const noexcept { return text.empty(); }
};
using refusals = std::vector<refusal>;

/// One thread at a time.
class batch_publisher {
 public:
  /// Connects at the first message, and again after a failure.
  explicit batch_publisher(broker_params params) : params_(std::move(params)) {}

  /// Blocks, for at most the timeout, and once more for each message of a batch that is refused.
  /// An error: none of the messages is known to be stored; any may be: publish all of them again.
  /// errc::broker_unreachable: the destination is out of reach, or missing; errc::store_full: it
  /// has no room. A destination that took only some of them is no error.
  [[nodiscard]] result<refusals> publish(std::span<const message> batch);
  /// Whether messages of the last publish lie at the broker, which takes nothing for now. Published
  /// again, they would be there twice: wait_on instead, with the same batch.
  [[nodiscard]] bool waits() const;
  /// As publish, for what lies there; what was not sent then is not sent now.
  [[nodiscard]] result<refusals> wait_on(std::span<const message> batch);

 private:
  result<void> try_to_publish(std::span<const message> batch);
  result<void> note(result<void> done);
  [[nodiscard]] bool is_stored(std::size_t position) const;
  [[nodiscard]] result<refusals> answers(std::span<const message> batch, const error& why) const;

  broker_params params_;
  std::unique_ptr<publisher> publisher_;
  std::vector<publication> progress_;  ///< of the last batch, where it failed
};

}  // namespace onceguard::messaging
