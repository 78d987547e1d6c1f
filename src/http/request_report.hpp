// What became of one request: for the access log, the metrics, traces and the report of observe
// mode. The gateway fills in a report for each request, and hands it to an observer.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/record.hpp>

namespace onceguard::http {

struct request_trace;

/// What a request got. The names are those of the access log and the metrics: `ran`, `not_kept`.
enum class request_outcome : std::uint8_t {
  ran,           ///< the work ran, and the client gets its own answer
  replayed,      ///< the stored answer
  waited,        ///< the stored answer, after it waited for its running twin
  busy,          ///< 409: a twin runs
  mismatch,      ///< 422: the key was used with another fingerprint
  backoff,       ///< 409: failed, and not to be tried again yet
  unknown,       ///< 409: it is unknown whether an earlier attempt took effect
  not_kept,      ///< 409: it took effect, and its answer was not kept
  refused,       ///< refused before a claim: see `problem`
  store_failed,  ///< 500 or 503: the store failed, or had no room
  unguarded,     ///< forwarded without a record: see `why_unguarded`
  observed,      ///< forwarded by a route that only observes: see `would_be`
};
inline constexpr std::size_t request_outcomes = 12;
[[nodiscard]] std::string_view name_of(request_outcome outcome) noexcept;
[[nodiscard]] bool is_outcome(std::string_view name) noexcept;

enum class unguarded_reason : std::uint8_t {
  none,
  method,  ///< the route does not guard this method
  no_key,  ///< it came without a key, and the route does not require one
  store,   ///< the store failed, and the route lets requests pass then
};
inline constexpr std::size_t unguarded_reasons = 4;
[[nodiscard]] std::string_view name_of(unguarded_reason reason) noexcept;

/// The views are valid during the call of the observer only.
struct request_report {
  request_outcome outcome = request_outcome::refused;
  unguarded_reason why_unguarded = unguarded_reason::none;
  std::string_view problem{};  ///< the type of our own answer, "in-progress"; empty: none
  /// ran: what became of the record.
  std::optional<settle_kind> settled{};
  /// ran: another lease had superseded its lease, so nothing was recorded, and the answer is not
  /// its own.
  bool superseded = false;
  unknown_reason unknown_why = unknown_reason::none;  ///< settled as unknown
  request_outcome would_be = request_outcome::ran;    ///< observed: what it would have got
  std::string_view would_be_problem{};  ///< would be refused: the type, a constant text
  unsigned status = 0;                  ///< of the answer; 0: there was none
  unsigned upstream_status = 0;         ///< of the upstream's answer; 0: none came

  std::string_view route{};  ///< its host and path; empty: no route fits
  std::size_t route_index = 0;
  std::string_view upstream{};  ///< its name; empty: none was called
  std::string_view method{};
  std::string_view path{};  ///< without the query, which may hold secrets
  std::string_view client{};

  const record_id* record = nullptr;  ///< null: no key
  const digest* scope = nullptr;
  std::string_view key{};     ///< the idempotency key; empty: none. No log has it
  std::uint64_t attempt = 0;  ///< with every lease of the record one more; 0: no lease
  unsigned renewals = 0;      ///< of its lease

  // 0: that step was not taken.
  std::chrono::microseconds total{0};
  std::chrono::microseconds claim{0};
  std::chrono::microseconds upstream_time{0};
  std::chrono::microseconds settle{0};
  // When the steps began, after the request did.
  std::chrono::microseconds claim_begin{0};
  std::chrono::microseconds upstream_begin{0};
  std::chrono::microseconds settle_begin{0};

  std::string_view trace_id{};           ///< of W3C Trace Context, 32 hex digits; empty: none
  const request_trace* trace = nullptr;  ///< the request's spans; null: no traces are sent
};

/// What became of the record, for the access log and traces: `complete`, `superseded`. Empty: not
/// recorded.
[[nodiscard]] std::string_view settled_name(const request_report& report) noexcept;

/// Thread-safe: called from every I/O thread, at the end of each request. Must not block.
class request_observer {
 public:
  request_observer() = default;
  request_observer(const request_observer&) = delete;
  request_observer& operator=(const request_observer&) = delete;
  virtual ~request_observer() = default;
  virtual void finished(const request_report& report) noexcept = 0;
};

}  // namespace onceguard::http
