// The partitions that the group has given to a consumer, and the records of them that wait here.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "messaging/kafka/handles.hpp"
#include "messaging/kafka/partition_progress.hpp"

namespace onceguard::messaging::kafka {

/// What is to be committed for a partition.
struct commit_point {
  std::int32_t partition = 0;
  std::int64_t offset = 0;
  std::string note;
};

/// A record, and how often it was handed out.
struct record {
  message_handle raw;
  std::uint32_t count = 0;
};

/// What was given back waits here: Kafka can't take back one record.
class assignment {
 public:
  using time_point = base::boot_clock::time_point;

  void add(std::int32_t partition, partition_progress done);
  /// Forgets all records of it.
  void remove(std::int32_t partition);
  void clear();

  /// A record that was read. Nullopt: it is done, or its partition is not here.
  [[nodiscard]] std::optional<record> take(message_handle raw);
  /// A record that waits, and is due. Nullopt: there is none.
  [[nodiscard]] std::optional<record> take_again(time_point now);
  /// It is done.
  void settle(const rd_kafka_message_t& done);
  /// It waits until then.
  void give_back(record next, time_point due);

  [[nodiscard]] bool empty() const noexcept { return shares_.empty(); }
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
    partition_progress done;
    bool dirty = false;
  };

  std::map<std::int32_t, share> shares_;
  std::multimap<time_point, record> waiting_;
};

}  // namespace onceguard::messaging::kafka
