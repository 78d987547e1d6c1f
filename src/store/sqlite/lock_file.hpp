// The file beside the database (`PATH-lock`) by whose locks the processes that share the store
// agree: which process runs a checkpoint, which processes have the store open, in which boot of the
// machine, and whether all commits of the write-ahead log are on the disk. The locks belong to the
// open file and end with it, however the process ends. A process that is forked closes the file: or
// its parent's locks would outlive the parent, and the next process would take a log for durable
// that nobody flushed, or wait for a turn that nobody has. The content means nothing: it reserves
// blocks of the volume for a process that runs out of room.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/unshared_descriptor.hpp"
#include "store/sqlite/location.hpp"

namespace onceguard::sqlite {

/// SQLite's own step would be up to 100 ms.
inline constexpr std::chrono::microseconds lock_step{500};
/// Waits one step for another process's lock.
void wait_one_step();

/// Used by one thread at a time. Errors of the operating system are thrown as `failure`.
class lock_file {
 public:
  /// Opens the file, or creates it for the owner of the database.
  explicit lock_file(const std::string& database);
  lock_file(const lock_file&) = delete;
  lock_file& operator=(const lock_file&) = delete;

  enum class entry : std::uint8_t { entered, closed_to_all, another_boot };
  /// Registers this process among those that have the store open, until the end of this object.
  /// `closed_to_all`: another process has the store for itself. `another_boot`: the registered
  /// processes see another boot id.
  [[nodiscard]] entry enter(std::string_view boot_id);
  /// Keeps all processes out until the end of this object. False: a process has the store open.
  [[nodiscard]] bool keep_all_out();

  /// Takes the turn to run a checkpoint. False: another session, here or in another process, has
  /// the turn.
  [[nodiscard]] bool try_turn();
  void end_turn() noexcept;

  /// Has an open session, here or in another process, declared the log durable that has this WAL
  /// index? `index`: the number of the index's file. Another file of that name was filled from the
  /// log anew, as far as the kernel's memory had it.
  [[nodiscard]] bool is_declared_durable(std::uint64_t index) const;
  /// Declares so until `withdraw`, or the end of this object. For the holder of the turn, and for a
  /// session that has this index open.
  void declare_durable(std::uint64_t index);
  void withdraw() noexcept;

  /// Reserves so many bytes of the volume in this file, if the file system can do that.
  void keep_reserve(std::int64_t bytes) noexcept;
  /// Frees the reserve. False: there was none.
  [[nodiscard]] bool give_up_reserve() noexcept;

 private:
  void open();
  [[nodiscard]] int open_or_make() const;
  void reopen_if_replaced();
  [[nodiscard]] bool lock(short kind, std::int64_t first, std::int64_t length) const;
  [[nodiscard]] bool others_hold(std::int64_t first, std::int64_t end) const;

  const std::string database_;
  const std::string path_;
  base::unshared_descriptor file_;
  file_mark mark_;
  std::int64_t byte_ = 0;     // the byte of the boot id; 0: not registered
  std::int64_t durable_ = 0;  // the byte of the index of a durable log; 0: none is declared
};

/// Holds the turn to run a checkpoint for the length of a scope.
class checkpoint_turn {
 public:
  explicit checkpoint_turn(lock_file& file) : file_(file), has_turn_(file.try_turn()) {}
  checkpoint_turn(const checkpoint_turn&) = delete;
  checkpoint_turn& operator=(const checkpoint_turn&) = delete;
  ~checkpoint_turn() {
    if (has_turn_) file_.end_turn();
  }
  [[nodiscard]] bool has_turn() const noexcept { return has_turn_; }

 private:
  lock_file& file_;
  const bool has_turn_;
};

}  // namespace onceguard::sqlite
