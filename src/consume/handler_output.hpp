// What the commands of a subscriber write: events of the log, each a line of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include <onceguard/error.hpp>

#include "base/descriptor.hpp"
#include "process/channel.hpp"

namespace onceguard::consume {

/// Reads the output of commands on a thread of its own, to its end: a command must not wait for a
/// reader, and what it leaves running must not find a closed pipe. Thread-safe but for the
/// destructor.
class handler_output {
 public:
  /// Of a longer line the rest is left out, and of an attempt the lines behind so many.
  static constexpr std::size_t line_max = 2'048;
  static constexpr std::size_t lines_max = 200;

  explicit handler_output(std::string subscriber);
  handler_output(const handler_output&) = delete;
  handler_output& operator=(const handler_output&) = delete;
  /// What is there by then is logged.
  ~handler_output();

  /// Where a command writes to that gets this message.
  [[nodiscard]] result<base::descriptor> begin(const std::string& message, std::uint32_t attempt);

 private:
  struct source {
    base::descriptor pipe;
    std::string message;
    std::uint32_t attempt = 0;
    std::string line{};
    std::size_t lines = 0;
    std::uint64_t left_out = 0;  ///< bytes
  };

  void run();
  /// False: it is at its end.
  [[nodiscard]] bool read(source& one) const;
  void take(source& one, std::string_view bytes) const;
  void end_line(source& one) const;
  void end(source& one) const;
  void wake() const noexcept;

  const std::string subscriber_;
  const base::descriptor wake_;
  std::mutex mutex_;
  std::list<source> begun_;  ///< for the thread to take; under the mutex
  bool ending_ = false;      ///< under the mutex
  std::thread thread_;
};

}  // namespace onceguard::consume
