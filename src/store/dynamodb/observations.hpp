// Since when this process knows the leases of the records that it has seen. There is no clock that
// processes share: a lease is over once it was seen unchanged for its whole length.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/recent_table.hpp"
#include "store/dynamodb/wire/payload.hpp"

namespace onceguard::dynamodb {

/// Thread-safe, of a fixed size. What is forgotten is observed anew, so that a lease lasts longer
/// for this process, and never shorter.
class observations {
 public:
  /// `now`: on the clock of leases, after the read of the record was answered; of a record that
  /// this process has written, when it was decided. `observed`: for so long another process had
  /// seen it already, in milliseconds. Returns since when nothing was written.
  std::int64_t note(const record_id& id, const stored_record& seen, std::uint64_t observed,
                    std::int64_t now) {
    const auto mark = seen.mark();
    const auto known_since = now - static_cast<std::int64_t>(std::min(observed, longest));
    std::uint64_t hash = 0;
    std::memcpy(&hash, id.data(), sizeof hash);
    // The settled ones displace no lease, however many requests come and go.
    const bool waiting = waits(seen.record);
    if (!waiting) waiting_.erase(hash);
    auto& table = waiting ? waiting_ : settled_;
    return table.update(hash, [&](entry& kept, bool found) {
      const bool same = found && kept.mark == mark;
      kept.since = same ? std::min(kept.since, known_since) : known_since;
      kept.mark = mark;
      return kept.since;
    });
  }

 private:
  struct entry {
    lease_mark mark;
    std::int64_t since = 0;
  };
  static constexpr std::uint64_t longest = std::uint64_t{1} << 50;  // some 35,000 years

  base::recent_table<entry> waiting_{65'536};
  base::recent_table<entry> settled_{8'192};
};

}  // namespace onceguard::dynamodb
