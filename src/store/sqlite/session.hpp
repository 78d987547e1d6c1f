// One open store file: its connection, its metadata, and the transactions on it. Used by one thread
// at a time.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <onceguard/error.hpp>

#include "store/sqlite/connection.hpp"
#include "store/sqlite/location.hpp"
#include "store/sqlite/lock_file.hpp"
#include "store/sqlite/metadata.hpp"
#include "store/sqlite/sqlite_params.hpp"
#include "store/sqlite/wal_vfs.hpp"
#include "store/sqlite/write_ahead_log.hpp"

namespace onceguard::sqlite {

enum class session_use : std::uint8_t {
  write,
  read,
  show,  ///< to a person: what is read may be what a power cut takes back
};
/// Of a store that only reads as yet.
[[nodiscard]] inline session_use reading_for(const sqlite_params& params) noexcept {
  return params.for_people ? session_use::show : session_use::read;
}
/// What becomes of a file that is missing.
enum class if_missing : std::uint8_t { create, fail };

class session {
 public:
  /// Opens the file, or creates a missing one, and migrates it to this version's schema. Only the
  /// migration writes and needs the lock. Blocks, and waits up to `params.timeout` for other
  /// processes. `params` must outlive the session.
  [[nodiscard]] static result<std::unique_ptr<session>> open(
      const sqlite_params& params, session_use use, if_missing missing = if_missing::create);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  [[nodiscard]] connection& on() noexcept { return connection_; }
  [[nodiscard]] metadata_table& metadata() noexcept { return *metadata_; }
  [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
  /// Identifies the file that was opened.
  [[nodiscard]] const file_mark& file() const noexcept { return file_; }

  /// False: the file, its write-ahead log or the index of that log was deleted or replaced, or the
  /// path leads elsewhere now. The session must then be closed without touching what is there now.
  [[nodiscard]] bool still_there() const noexcept;

  /// For a file that has lost records: gives the store a new identity. By the identity every
  /// process that knew the store notices the loss, however many leases were granted since.
  void begin_another_memory();

  /// Begins a transaction that writes; false: another process writes.
  [[nodiscard]] bool try_begin();
  void commit() { commit_.run(); }
  bool roll_back() noexcept;

  [[nodiscard]] write_ahead_log& wal() noexcept { return wal_; }

 private:
  session(const sqlite_params& params, std::string path);
  [[nodiscard]] std::optional<error> enter();
  [[nodiscard]] std::optional<error> check_file(if_missing missing);
  [[nodiscard]] std::optional<error> check_pages();
  void set_up(session_use use);
  void began();
  [[nodiscard]] bool log_is_ours();
  [[nodiscard]] bool log_is_damaged();
  void configure();
  void begin_within_timeout();
  void make_durable();
  /// False: another session has the turn.
  [[nodiscard]] bool try_to_make_durable();

  const sqlite_params& params_;
  std::string path_;
  lock_file lock_;
  wal_vfs files_;
  connection connection_;
  write_ahead_log wal_;
  statement begin_, commit_;
  std::optional<metadata_table> metadata_;  // once the tables exist
  std::string identity_;
  file_mark file_, log_, index_;
  bool is_ours_ = false;  // the file, as it was opened
  bool log_is_foreign_ = false;
  bool durable_ = false;  // all that this session reads
};

/// Makes an error of a failure; names the store's `path` for people.
[[nodiscard]] error to_error(const failure& failed, const std::string& path, effect on_store);

}  // namespace onceguard::sqlite
