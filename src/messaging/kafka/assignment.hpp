// The partitions that the group has given to a consumer, and the records of them that it holds.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/kafka/handles.hpp"
#include "messaging/kafka/progress.hpp"

namespace onceguard::messaging::kafka {

/// What is to be committed for a partition.
struct commit_point {
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::string note;
};

/// A record is held by its tag while somebody works on it. What was given back waits here: Kafka
/// can't take back one record.
class assignment {
 public:
  using time_point = base::boot_clock::time_point;

  void add(std::int32_t partition, progress done);
  /// Forgets all records of it.
  void remove(std::int32_t partition);
  void clear();

  /// A record that was read. Nullopt: it is done, or its partition is not here.
  [[nodiscard]] std::optional<delivery> take(message_handle raw);
  /// A record that waits, and is due. Nullopt: there is none.
  [[nodiscard]] std::optional<delivery> take_again(time_point now);
  /// The record that is held. Null: it is not, or not any more.
  [[nodiscard]] const rd_kafka_message_t* held(std::uint64_t tag) const;
  /// It is done, and held no more.
  void settle(std::uint64_t tag);
  /// It waits until then, and is held no more.
  void give_back(std::uint64_t tag, time_point due);
  void give_back_all();

  [[nodiscard]] bool empty() const noexcept { return shares_.empty(); }
  [[nodiscard]] std::size_t held_count() const noexcept { return held_.size(); }
  [[nodiscard]] std::size_t waiting_count() const noexcept { return waiting_.size(); }
  [[nodiscard]] std::optional<time_point> next_due() const;
  /// The partitions, and for each the offset behind the last record that was read.
  [[nodiscard]] std::map<std::int32_t, std::int64_t> read_offsets() const;

  /// What changed since the last call, or since `uncommitted`. `longest`: of a note.
  [[nodiscard]] std::vector<commit_point> take_commits(std::size_t longest);
  [[nodiscard]] bool has_commits() const noexcept;
  /// A commit failed: it is to be made again.
  void uncommitted(std::int32_t partition);
  void uncommitted_all();

 private:
  struct share {
    progress done;
    bool dirty = false;
  };
  struct record {
    message_handle raw;
    std::uint32_t count = 0;  ///< how often it was handed out
  };

  [[nodiscard]] delivery hand_out(record next);

  std::map<std::int32_t, share> shares_;
  std::map<std::uint64_t, record> held_;
  std::multimap<time_point, record> waiting_;
  std::uint64_t last_tag_ = 0;
};

}  // namespace onceguard::messaging::kafka
