// The dead letters of a subscriber, and its messages of unknown outcome: what `onceguard messages`
// looks at. They are taken as a consumer takes them, since not every broker lets a queue be
// browsed, and are given back in the end.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "consume/consume_params.hpp"

namespace onceguard::consume {

/// What of a dead letter is empty was not written by `onceguard consume`: the broker moved it by
/// itself, or its headers did not fit.
struct dead_letter {
  std::uint64_t tag = 0;
  messaging::message content{};  ///< as its sender sent it
  std::string key{};             ///< the id of the message; empty: it has none
  std::string keyless{};         ///< why it has none
  std::string reason{};
  std::string outcome{};   ///< "dead", "reused" or "unknown": what it was then
  std::int64_t since = 0;  ///< wall clock in milliseconds; 0: not known
};

/// The URL of the queue in which they lie. errc::invalid_argument: it needs `dead_letter_queue`, or
/// there are none.
[[nodiscard]] result<std::string> dead_letter_box_url(const consume_params& params);

/// Whether a look uses up deliveries, of which the broker allows so many before it drops a message
/// or moves it away (quorum queues, max_deliver, maxReceiveCount). Elsewhere looking changes
/// nothing that ends.
[[nodiscard]] bool reading_is_counted(const consume_params& params);

/// One thread at a time.
class dead_letter_box {
 public:
  /// `most`: how many may be looked at.
  [[nodiscard]] static result<dead_letter_box> open(const consume_params& params, std::size_t most);

  /// All that are there, up to `most`: until none comes for as long as `wait`. Those of other
  /// subscribers, which may share the queue, are left out.
  [[nodiscard]] result<std::vector<dead_letter>> read(milliseconds wait);
  /// Keeps what was read from others for longer, where that is due. To be called now and then.
  void hold();
  /// The letter is gone. errc::not_found: another one has it by now, or it comes again.
  [[nodiscard]] result<void> remove(std::uint64_t tag);
  /// What was not removed lies there again. An error: it does as soon as the broker finds out.
  [[nodiscard]] result<void> put_back();

 private:
  dead_letter_box(const consume_params& params, std::string url, std::size_t most)
      : params_(&params), url_(std::move(url)), most_(most) {}
  [[nodiscard]] result<void> connect();
  [[nodiscard]] result<void> put_back(std::uint64_t tag, const messaging::delivery& taken);
  [[nodiscard]] bool is_amqp() const;
  [[nodiscard]] result<void> connect_copies();

  const consume_params* params_;
  std::string url_;
  std::size_t most_;
  std::unique_ptr<messaging::consumer> consumer_;
  std::unique_ptr<messaging::publisher> copies_;  ///< null: none was needed
  std::unordered_map<std::uint64_t, messaging::delivery> taken_;
  std::vector<std::uint64_t> order_;  ///< of arrival
  base::boot_clock::time_point hold_at_{};
};

}  // namespace onceguard::consume
