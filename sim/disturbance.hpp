// What goes wrong in a simulation: a list that the seed makes, and from which a failing run is
// shrunk by leaving out one after the other.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/record.hpp>

namespace onceguard::sim {

enum class message_kind : std::uint8_t {
  store_request,
  store_reply,
  work_request,  ///< from a gateway to the upstream
  work_reply,
  client_request,
  client_reply,
  // Of an application's connection to a decision service.
  call,
  call_answer,
  connection_end,  ///< of either side
};
inline constexpr std::size_t message_kinds = 9;
/// Those of a world without decision services.
inline constexpr std::size_t plain_message_kinds = 6;

/// Calls of a store, as far as they are disturbed alone.
enum class call_kind : std::uint8_t { any, claim, settle, extend };
inline constexpr std::size_t call_kinds = 4;

enum class disturbance_kind : std::uint8_t {
  // At handler no. `moment` of machine `where`.
  crash,     ///< it comes back after `length`
  stop,      ///< a signal stops it for `length`
  shutdown,  ///< it ends its leases and then crashes
  // At the time of `moment` milliseconds.
  partition,  ///< of `where` and `other` for `length`
  wall_step,  ///< the wall clock of `where` steps by `length`
  forget,     ///< the store loses its last second
  operate,    ///< an operator settles what is unknown; `where` 1: who does not wait for its end
  // Message no. `moment` of kind `where`.
  lose,
  repeat,  ///< it arrives twice, the second time after `length`
  delay,   ///< by `length`
  // Call no. `moment` of the store, of the kind `where` (see call_kind).
  refuse_call,   ///< an error, and nothing was done
  fail_after,    ///< done, and an error
  fail_unknown,  ///< not done, and an error that does not say so
  // Request no. `moment` to the upstream.
  late_answer,   ///< after `length`
  no_answer,     ///< the effect, and no answer
  no_effect,     ///< neither effect nor answer
  error_after,   ///< the effect, and status 500
  error_before,  ///< no effect, and status 500
  refuse_work,   ///< no effect, and status 503
  // Request no. `moment` of a client.
  leave,  ///< the client leaves after `length`
  // For `length`, from call no. `moment` of the store on.
  outage,  ///< calls fail, as `where` says: 0 to 2 in the three ways of above, 3 and 4 in any
  // Claim no. `moment` that the store carries out.
  hang,  ///< its commit takes `length`, and nobody sees it before
  // At the time of `moment` milliseconds.
  one_way,  ///< nothing gets from `where` to `other` for `length`
  // The same, of the tiered store's accelerator, machine `where`.
  front_loses,    ///< everything
  front_returns,  ///< as it was `length` before; `other` 1: under the same identity
  front_away,     ///< for all machines below `other`, for `length`
  front_clock,    ///< its wall clock steps by `length`
  // The same.
  release,  ///< an operator releases what is completed
  // Message no. `moment` on a connection to a decision service.
  hang_up,  ///< is lost, and both ends learn that the connection has ended
  // Of a journal's machine, for `length`. `where` 0: the power fails, and what was not flushed is
  // lost; 1: the process is killed.
  store_crash,   ///< at the time of `moment` milliseconds
  crash_at_act,  ///< at act no. `moment` on the disk
  // Act no. `moment` on its disk.
  disk_error,  ///< `where` 0: it fails once; 1: the disk is full for `length`
  // Flush no. `moment`.
  slow_flush,  ///< takes `length`
};
inline constexpr std::size_t disturbance_kinds = 33;
/// Those of a world with an accelerator, and of one without.
inline constexpr std::size_t tiered_disturbance_kinds = 28;
inline constexpr std::size_t plain_disturbance_kinds = 23;

struct disturbance {
  disturbance_kind kind{};
  std::uint64_t moment = 0;
  std::size_t where = 0;
  std::size_t other = 0;
  milliseconds length{0};
};

using plan = std::vector<disturbance>;

[[nodiscard]] std::string_view name_of(disturbance_kind kind) noexcept;
/// One line, for people.
[[nodiscard]] std::string text_of(const disturbance& each);

class number_stream;
/// What may be disturbed, and how much.
struct disturbance_limits {
  std::size_t gateways = 3;  ///< machines from 0 on
  std::size_t machines = 5;
  milliseconds time{10'000};  ///< within which it begins
  std::size_t most = 12;
  milliseconds upstream_timeout{2'000};
  bool forgets = false;
  std::size_t front = 0;  ///< the machine of the accelerator; 0: there is none
  /// The first ones of `gateways`; the others are decision services. 0: there are none of both.
  std::size_t applications = 0;
  bool disk = false;  ///< the store is a journal
};
[[nodiscard]] plan make_plan(number_stream& numbers, const disturbance_limits& limits);

}  // namespace onceguard::sim
