// What the admin listener knows of the program that it belongs to, and what it may have done.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/awaitable.hpp>

namespace onceguard::admin {

enum class phase : std::uint8_t { starting, serving, draining };

/// Numbers of this moment.
struct program_gauges {
  std::size_t connections = 0;
  std::size_t connections_max = 0;
  std::uint64_t connections_refused = 0;  ///< since the start
  std::size_t buffered_bytes = 0;
  std::size_t buffered_bytes_max = 0;
  std::uint64_t log_lines_dropped = 0;
  std::uint64_t log_lines_left_out = 0;
  std::uint64_t spans_dropped = 0;  ///< counted in requests
  bool reload_refused = false;      ///< the last one, so that an older configuration is in force
  std::uint64_t reloads_refused = 0;
  bool files_limited = false;  ///< the process is shut in, by Landlock and by seccomp
  bool calls_limited = false;
  /// The PEM files of certificates that the configuration in force names, and when the first
  /// certificate of each ends, in seconds since 1970.
  std::vector<std::pair<std::string, long long>> certificates;
};

/// Of the metric onceguard_sandbox.
inline constexpr std::string_view meaning_of_sandbox =
    "Whether the process has given this part up: to write elsewhere and run programs (files), or "
    "system calls that it never makes (calls).";

struct reload_outcome {
  std::vector<std::string> faults;          ///< empty: the new configuration is in force
  std::vector<std::string> restart_needed;  ///< options that are only read at a start
};

/// Thread-safe. Must outlive the listener.
class program {
 public:
  program() = default;
  program(const program&) = delete;
  program& operator=(const program&) = delete;
  virtual ~program() = default;

  [[nodiscard]] virtual phase phase_now() const noexcept = 0;
  [[nodiscard]] virtual program_gauges gauges() const = 0;
  /// The configuration in force as a JSON object; without secrets.
  [[nodiscard]] virtual std::string configuration() const = 0;
  /// Reads the configuration and the tokens again, as SIGHUP does, and takes both or neither. The
  /// author is named in the log.
  virtual boost::asio::awaitable<reload_outcome> reload(std::string author) = 0;
  /// Begins to end the program, as SIGTERM does.
  virtual void drain(std::string author) = 0;
};

}  // namespace onceguard::admin
