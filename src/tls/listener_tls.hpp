// The certificates of the listener, which are read again when they change.
#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include <onceguard/error.hpp>

#include "base/file_watch.hpp"
#include "base/watched_files.hpp"
#include "tls/context.hpp"

namespace onceguard::tls {

/// Thread-safe.
class listener_tls {
 public:
  explicit listener_tls(server_files files);
  listener_tls(const listener_tls&) = delete;
  listener_tls& operator=(const listener_tls&) = delete;

  /// Reads the files. The error says what is wrong with them; what was read before stays in force.
  [[nodiscard]] result<void> read();
  /// The same, for files that may have changed: tells the log.
  void reread();
  /// For a new connection; null: the listener speaks plain HTTP.
  [[nodiscard]] context latest() const;

 private:
  result<void> take(const result<context>& made);
  void take_again(const result<context>& made);

  const server_files files_;
  mutable std::mutex mutex_;  // for the pointer alone
  context latest_;
  std::optional<base::watched_file> known_;
  std::unique_ptr<base::file_watch> watch_;  // the last: its thread uses the others
};

}  // namespace onceguard::tls
