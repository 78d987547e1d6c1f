// What the consumers of all brokers have in common: the table of what is held, by the tags of the
// deliveries, and which errors end a hold. An adapter has the protocol alone: it derives from this,
// and its functions throw `failed`.
//
// A delivery is forgotten when it is settled, when its hold is over on this machine's clock, and
// when the broker says that it is not held (errc::not_found). After any other error it is still
// held: the call may be made again, or the connection is gone, which each further call says.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/failed_call.hpp"

namespace onceguard::messaging {

/// `Receipt`: what names a delivery to its broker.
template <class Receipt>
class holding_consumer : public consumer {
 public:
  using moment = base::boot_clock::time_point;

  [[nodiscard]] result<std::vector<delivery>> receive(std::size_t most, milliseconds wait) final {
    const auto until = base::boot_now() + bounded(wait);
    return caught([&] {
      catch_up();
      return fetch(most, until);
    });
  }
  [[nodiscard]] result<void> extend(std::uint64_t tag) final {
    return on_held(tag, [&](held_delivery& one) { one.until = prolong(one.receipt, one.until); });
  }
  [[nodiscard]] result<void> acknowledge(std::uint64_t tag) final {
    return settle(tag, [&](held_delivery& one) { confirm(tag, one.receipt); });
  }
  [[nodiscard]] result<void> give_back(std::uint64_t tag, milliseconds delay) final {
    return settle(tag, [&](held_delivery& one) { put_back(tag, one.receipt, bounded(delay)); });
  }
  [[nodiscard]] result<void> dead_letter(std::uint64_t tag) final {
    return settle(tag, [&](held_delivery& one) { bury(tag, one.receipt); });
  }
  [[nodiscard]] result<std::optional<std::uint64_t>> backlog() final {
    return caught([&] {
      catch_up();
      return count_waiting();
    });
  }

 protected:
  struct held_delivery {
    Receipt receipt;
    moment until;  ///< when it is forgotten
  };
  static constexpr milliseconds longest_delay{std::chrono::hours(24 * 365)};

  explicit holding_consumer(std::size_t in_flight) : in_flight_(in_flight) {}

  // --- the protocol

  /// Takes note of what happened since the last call. Throws if the connection is gone.
  virtual void catch_up() {}
  /// As receive. What it returns is held (hold).
  [[nodiscard]] virtual std::vector<delivery> fetch(std::size_t most, moment until) = 0;
  /// Extends the hold that ends at `end`; until when it is held then.
  [[nodiscard]] virtual moment prolong(Receipt& receipt, moment end) = 0;
  /// As acknowledge.
  virtual void confirm(std::uint64_t tag, Receipt& receipt) = 0;
  /// As give_back.
  virtual void put_back(std::uint64_t tag, Receipt& receipt, milliseconds delay) = 0;
  /// As dead_letter.
  virtual void bury(std::uint64_t /*tag*/, Receipt& /*receipt*/) {
    throw failed{refusal(errc::invalid_argument, "there is no destination for dead letters")};
  }
  /// As backlog.
  [[nodiscard]] virtual std::optional<std::uint64_t> count_waiting() { return std::nullopt; }
  /// With the name of the queue before the words.
  [[nodiscard]] virtual error refusal(errc code, std::string_view words) const = 0;

  // --- what is held

  /// Holds a delivery from now on; its tag.
  std::uint64_t hold(Receipt receipt, moment until = moment::max()) {
    hold_as(++last_tag_, std::move(receipt), until);
    return last_tag_;
  }
  /// The same where the broker gives tags.
  void hold_as(std::uint64_t tag, Receipt receipt, moment until = moment::max()) {
    held_.insert_or_assign(tag, held_delivery{std::move(receipt), until});
  }
  /// How many more may be held, up to `most`.
  [[nodiscard]] std::size_t room_for(std::size_t most) {
    forget_late();
    return std::min(most, in_flight_ - std::min(in_flight_, held_.size()));
  }
  void forget_late() {
    // Another consumer may have them by now.
    const auto now = base::boot_now();
    std::erase_if(held_, [now](const auto& each) { return each.second.until <= now; });
  }
  [[nodiscard]] std::map<std::uint64_t, held_delivery>& all_held() noexcept { return held_; }

 private:
  static milliseconds bounded(milliseconds time) {
    return std::clamp(time, milliseconds(0), longest_delay);
  }

  template <class Work>
  [[nodiscard]] result<void> on_held(std::uint64_t tag, const Work& work) {
    return caught([&] {
      catch_up();
      forget_late();
      const auto found = held_.find(tag);
      if (found == held_.end()) {
        throw failed{refusal(errc::not_found, "this consumer does not hold the delivery")};
      }
      try {
        work(found->second);
      } catch (const failed& refused) {
        if (refused.why.code == errc::not_found) held_.erase(tag);
        throw;
      }
    });
  }

  template <class Work>
  [[nodiscard]] result<void> settle(std::uint64_t tag, const Work& work) {
    return on_held(tag, [&](held_delivery& one) {
      work(one);
      held_.erase(tag);
    });
  }

  const std::size_t in_flight_;
  std::map<std::uint64_t, held_delivery> held_;
  std::uint64_t last_tag_ = 0;
};

}  // namespace onceguard::messaging
