// Consumes a stream of Redis as a member of a consumer group.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

#include "messaging/holding_consumer.hpp"
#include "messaging/redis_streams/stream_connection.hpp"
#include "messaging/redis_streams/stream_url.hpp"

namespace onceguard::messaging::redis_streams {

/// What names a delivery in the group.
struct entry_receipt {
  std::string id;
  std::uint32_t count;
};

/// A delivery is held while the group's pending list names this consumer and this delivery's
/// counter, and while its hold is not over on this machine's clock.
///
/// traits().ordered is false: the group's messages arrive in the order of the stream only while it
/// has one consumer and nothing is delivered again; a second consumer works on later messages of
/// the same key beside the first one.
class stream_consumer final : public holding_consumer<entry_receipt> {
 public:
  /// Connects, and joins the group. Throws `failed`.
  stream_consumer(const stream_settings& settings, const broker_params& params);
  /// Gives back what is held, and takes the consumer's name out of the group, unless the connection
  /// has failed.
  ~stream_consumer() override;

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return traits_; }

 private:
  void catch_up() override;
  [[nodiscard]] std::vector<delivery> fetch(std::size_t most, moment until) override;
  [[nodiscard]] moment prolong(entry_receipt& receipt, moment end) override;
  void confirm(std::uint64_t tag, entry_receipt& receipt) override;
  void put_back(std::uint64_t tag, entry_receipt& receipt, milliseconds delay) override;
  /// What no consumer has received yet, and what is pending; nullopt where the server has lost
  /// count of the former, as after XDEL.
  [[nodiscard]] std::optional<std::uint64_t> count_waiting() override;
  [[nodiscard]] error refusal(errc code, std::string_view words) const override;

  /// Takes what this consumer gave back and what is due.
  void take_due(std::vector<delivery>& out, std::size_t most);
  /// One step of a pass over the pending list, if a pass is due or under way.
  void take_abandoned(std::vector<delivery>& out, std::size_t most);
  void read_new(std::vector<delivery>& out, std::size_t most, milliseconds block);
  /// How long to wait for new messages.
  [[nodiscard]] milliseconds block_until(moment until) const;
  [[nodiscard]] std::string take(std::vector<delivery>& out, const command& question);
  [[nodiscard]] delivery deliver(std::string_view id, std::uint32_t count, const reply& fields);

  [[nodiscard]] command script(std::string_view text) const;
  /// `question` completes the script's words. The script's number, which is no refusal.
  std::int64_t settle(const entry_receipt& receipt,
                      std::initializer_list<std::string_view> question);

  const stream_settings settings_;
  const std::string& stream_;
  const std::string consumer_;
  const consumer_traits traits_;
  connection connection_;
  std::multimap<moment, std::string> due_;  ///< what this consumer gave back
  std::string cursor_;                      ///< of a pass under way; empty: of none
  moment next_pass_{};
};

}  // namespace onceguard::messaging::redis_streams
