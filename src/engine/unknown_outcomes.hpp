// Logs and counts each record that becomes unknown, once.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include <onceguard/engine.hpp>

namespace onceguard {

/// Thread-safe, without locks. Remembers a bounded number of records: of a record that was
/// displaced, a second event may come. The reason is the one that the record has, and that lists
/// show.
class unknown_outcomes {
 public:
  explicit unknown_outcomes(engine_counters& counters) noexcept : counters_(counters) {}

  /// The store has taken a settle. Logs it if the record is unknown from now on. `upstream` may be
  /// empty; `about` is the subject of the record.
  void settled(const settlement& request, const onceguard::settled& reply, const subject* about,
               std::string_view upstream);
  /// A request met an unknown record. Logs it if the holder is gone, as nobody has settled the
  /// record then.
  void met(const operation& op, unknown_reason why);
  /// The operation begins to run, and its outcome is not unknown any more. If it becomes unknown
  /// again, that is another event.
  void began(const record_id& id) noexcept;

 private:
  struct details {
    std::string_view route;
    unknown_reason why = unknown_reason::none;
    std::string_view upstream;
    std::uint16_t upstream_status = 0;
  };
  void log(const record_id& id, const details& seen);

  static constexpr std::size_t remembered = 4'096;
  using mark = std::uint64_t;  // the first bytes of the record's id
  static mark mark_of(const record_id& id) noexcept;
  engine_counters& counters_;
  std::array<std::atomic<mark>, remembered> seen_{};
};

}  // namespace onceguard
