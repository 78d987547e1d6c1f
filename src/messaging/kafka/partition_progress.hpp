// How far a partition has been handled. Kafka remembers one number for each group and partition:
// all records before it are done. What is done behind it stands in the note that is committed with
// the number, so that it does not come again when the partition moves.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace onceguard::messaging::kafka {

class partition_progress {
 public:
  /// Nothing is known.
  partition_progress() = default;
  /// What the group had committed: a note that is none of ours says nothing. Negative: no number.
  partition_progress(std::int64_t committed, std::string_view note);

  /// A record was read. False: it is done, or was read before and is not done.
  [[nodiscard]] bool take(std::int64_t offset);
  /// A record that was taken is done.
  void settle(std::int64_t offset);

  /// The offset to commit: all records before it are done. Negative: nothing is known.
  [[nodiscard]] std::int64_t position() const;
  /// The note to commit with it. What does not fit is left away, and would be read again.
  [[nodiscard]] std::string note(std::size_t longest) const;
  /// The offset behind the last record that was read. Negative: none was.
  [[nodiscard]] std::int64_t next() const noexcept { return next_; }

 private:
  std::int64_t next_ = -1;
  std::set<std::int64_t> open_;  ///< taken, and not settled
  std::set<std::int64_t> settled_;
};

}  // namespace onceguard::messaging::kafka
