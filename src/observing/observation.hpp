// What guarding would have done with the requests of routes that only observe (`observe = true`).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "base/clock.hpp"
#include "base/recent_table.hpp"
#include "http/request_report.hpp"
#include "observing/try_comparison.hpp"

namespace onceguard::observing {

/// How long after the first one a repeat came: so many up to each bound, and after the last.
class delays {
 public:
  static constexpr std::array<milliseconds, 6> bounds{
      milliseconds(100),    milliseconds(1'000),   milliseconds(10'000),
      milliseconds(60'000), milliseconds(600'000), milliseconds(3'600'000)};

  void add(milliseconds after) noexcept;
  [[nodiscard]] const std::array<std::uint64_t, bounds.size() + 1>& counts() const noexcept {
    return counts_;
  }

 private:
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
};

struct route_counts {
  std::uint64_t requests = 0;   ///< of the methods that the route would guard
  std::uint64_t with_key = 0;   ///< and that would not be refused for the key or its scope
  std::uint64_t anonymous = 0;  ///< of them: the scope has no source, and is shared
  /// Requests with a key by what they would have got. `refused` includes those without a usable
  /// key.
  std::array<std::uint64_t, http::request_outcomes> would_be{};
  std::map<std::string, std::uint64_t, std::less<>> problems;  ///< of those that would be refused
  /// The body did not arrive wholly, or there was no memory to read it: only counted.
  std::uint64_t not_compared = 0;

  // Repeats of a key with the same fingerprint.
  std::uint64_t repeats = 0;
  std::uint64_t repeats_run_again = 0;  ///< first one and repeat got an answer of success
  delays repeat_delays;
  /// The first with its key and fingerprint under its scope, and not the first of all: a caller who
  /// has another credential by now, whom guarding would not know again.
  std::uint64_t other_scopes = 0;

  // Requests whose content came before, within content_window, and that guarding could not have
  // known as repeats.
  std::uint64_t contents_without_key = 0;
  std::uint64_t contents_with_another_key = 0;
  std::uint64_t contents_run_again = 0;  ///< first one and repeat got an answer of success
  delays content_delays;
};

/// What is known of a request before its answer.
struct sighting {
  http::request_outcome would_be = http::request_outcome::ran;
  std::string_view problem{};  ///< refused: the type, a constant text
  bool with_key = false;
  bool anonymous = false;
  bool compared = false;
  bool same_content = false;  ///< its content came before, with another key or with none
  bool other_scope = false;   ///< its key and fingerprint came before, under another scope
  std::optional<milliseconds> since_first{};    ///< a repeat of its key
  std::optional<milliseconds> since_content{};  ///< same_content
  bool earlier_succeeded = false;  ///< of a key that runs again: its run before had success
  std::uint64_t record = 0;        ///< a hash; 0: none
  std::uint64_t content = 0;
};

/// How a request ended.
struct ending {
  settle_kind settled = settle_kind::release;  ///< what the record would have become
  bool succeeded = false;                      ///< the upstream answered with 2xx
};

/// Counts by route. Remembers a bounded number of requests in this process; a repeat that comes
/// after the first one was forgotten counts as a first one. Thread-safe.
class observation {
 public:
  static constexpr std::size_t usual_entries = 64 * 1024;  // of each of three tables: 6 MiB
  static constexpr milliseconds content_window{3'600'000};

  /// Takes the memory of its tables with the first request.
  explicit observation(const base::clock& clock = base::system_clock(),
                       std::size_t entries = usual_entries);

  /// A whole request with a key. `print` is its fingerprint.
  [[nodiscard]] sighting see(const route_policy& policy, std::string_view key, const digest& scope,
                             const digest& print);
  /// A whole request without a key, on a route that requires none.
  [[nodiscard]] sighting see_without_key(const digest& scope, const digest& print);

  /// What its tries are compared with, and what routes are recommended from.
  [[nodiscard]] try_comparison& tries() noexcept { return tries_; }

  /// Remembers how the request ended, for its repeats. Before its client gets the answer: a repeat
  /// may follow at once.
  void settle(const route_policy& policy, const sighting& seen, const ending& end);
  /// Counts the request. Once, at its end.
  void count(std::string_view route, const sighting& seen, const ending& end);

  [[nodiscard]] std::map<std::string, route_counts, std::less<>> counts() const;
  /// Logs an event for each route.
  void log_counts() const;
  /// The counts as one JSON object.
  [[nodiscard]] std::string json() const;

 private:
  enum class record_state : std::uint8_t { running, completed, failed, unknown };
  struct known_record {
    std::uint64_t print = 0;
    std::int64_t first_ms = 0;
    std::int64_t until_ms = 0;          // the end of its retention, or of its back-off
    std::uint32_t early_successes = 0;  // of repeats that ended before the run did
    record_state state = record_state::running;
    bool succeeded = false;
    [[nodiscard]] bool ended() const noexcept { return state != record_state::running; }
  };
  struct known_content {
    std::int64_t first_ms = 0;
    std::uint64_t record = 0;
    std::uint32_t early_successes = 0;  // of repeats that ended before the first one did
    bool over = false;
    bool succeeded = false;
    [[nodiscard]] bool ended() const noexcept { return over; }
  };

  void see_content(const digest& scope, const digest& print, sighting& out);
  void see_scope(std::string_view key, const digest& scope, const digest& print, sighting& out);
  void end_record(const route_policy& policy, const sighting& seen, const ending& end);
  template <class Table>
  static std::uint64_t count_success(Table& table, std::uint64_t hash, bool first);
  [[nodiscard]] std::uint64_t repeats_run_again(const sighting& seen);
  [[nodiscard]] std::uint64_t contents_run_again(const sighting& seen);

  const base::clock& clock_;
  const std::int64_t since_wall_ms_;
  struct tables {
    explicit tables(std::size_t entries) : records(entries), contents(entries), scopes(entries) {}
    base::recent_table<known_record> records;
    base::recent_table<known_content> contents;
    base::recent_table<std::uint64_t> scopes;  // the last one of a key and fingerprint
  };
  [[nodiscard]] tables& known();

  const std::size_t entries_;
  std::once_flag made_;
  std::unique_ptr<tables> tables_;
  try_comparison tries_;
  mutable std::mutex mutex_;
  std::map<std::string, route_counts, std::less<>> routes_;  // under the mutex
};

}  // namespace onceguard::observing
