// What happened: the trace of a simulation, or of a real store. The checker reads nothing else.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onceguard::sim {

enum class event_kind : std::uint8_t {
  // What a client sees. `number`: that of its request; `value`: see answer_kind.
  request,  ///< arrives at a gateway
  answer,   ///< `value` is the kind, `body` the number of the answer
  // What the work does.
  dispatch,  ///< the last byte of a request leaves for the upstream; `number` is the token
  effect,    ///< `body` numbers the answer that it has
  answered,  ///< the holder has the answer of its request to the upstream
  in_doubt,  ///< the upstream gave an answer that does not say whether there was an effect, or none
  sending,   ///< the first byte leaves, for work or for a question; `number` is the token
  lease_lost,  ///< the store has answered the holder that its lease is over
  // What the store did, in its own order. `number` is the token.
  grant,        ///< `value`: the end of the lease
  probe_grant,  ///< the same, of a lease to ask
  extend,       ///< `value`: the new end of the lease
  complete,     ///< `body`, and `value`: the end of its retention
  release,      ///< also of a lease that was abandoned before it began
  fail,         ///< `value`: when it may run again
  abandon,
  resolve,      ///< an operator: `value` 1: it did take effect
  lose_memory,  ///< what was written after the time `value`
  // Machines.
  crash,
  restart,
  stop,
  calm,  ///< nothing is disturbed any more
  message,
  step,
  lose_copies,  ///< as lose_memory, of the accelerator
  reboot,       ///< of the store's machine: it has ended all leases
};
inline constexpr std::size_t event_kinds = 25;

/// `value` of an answer.
enum class answer_kind : std::uint8_t {
  ran,     ///< of the work that ran for this request
  replay,  ///< the stored one
  gone,    ///< it took effect, and no answer is known
  busy,
  backoff,
  mismatch,
  unknown,
  unavailable,  ///< nothing was done
  unrecorded,   ///< the work ran, and the store does not know it yet
  superseded,
  refused,  ///< the upstream did nothing, and says so
};

struct happening {
  std::int64_t time = 0;  ///< nanoseconds
  event_kind kind{};
  std::uint8_t machine = 0;
  std::uint16_t key = 0;
  std::uint32_t print = 0;  ///< which of the key's requests: they differ in what they ask for
  std::uint64_t number = 0;
  std::int64_t value = 0;
  std::uint64_t body = 0;
};

class history {
 public:
  void add(const happening& next);
  [[nodiscard]] const std::vector<happening>& all() const noexcept { return all_; }
  /// Of all that happened: two histories with one digest are the same, byte for byte.
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }
  /// Notes what tells only whether two runs are the same.
  void note(std::int64_t time, std::uint64_t machine, std::uint64_t word) noexcept;

 private:
  std::vector<happening> all_;
  std::uint64_t digest_ = 0xcbf2'9ce4'8422'2325;
};

[[nodiscard]] std::string_view name_of(event_kind kind) noexcept;
/// One line, for people and for files.
[[nodiscard]] std::string text_of(const happening& event);

}  // namespace onceguard::sim
