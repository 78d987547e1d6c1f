// The file beside the database (`PATH-lock`) by whose locks the processes that share it agree:
// who moves the log, who has the store open, and by which boot of the machine. The locks
// belong to the open file and end with it, however the process ends. What is in it means nothing:
// it keeps blocks of the volume for whoever runs out of room.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "store/sqlite/location.hpp"

namespace onceguard::sqlite {

/// Used by one thread at a time. Failures of the system are thrown as `failure`.
class lock_file {
 public:
  /// Opens the file, or makes it for whoever owns the database.
  explicit lock_file(const std::string& database);
  ~lock_file();
  lock_file(const lock_file&) = delete;
  lock_file& operator=(const lock_file&) = delete;

  enum class entry : std::uint8_t { entered, closed_to_all, another_boot };
  /// Among those who have the store open, until the end of this object. `closed_to_all`: somebody
  /// has it for himself. `another_boot`: who is in there sees another boot id.
  [[nodiscard]] entry enter(std::string_view boot_id);
  /// False: somebody has the store open. Else nobody enters until the end of this object.
  [[nodiscard]] bool keep_all_out();

  /// The turn to move the log; false: it is another's, in this process or elsewhere.
  [[nodiscard]] bool try_move();
  void end_move() noexcept;

  /// Has so many bytes of the volume kept in this file, where the file system can.
  void keep_reserve(std::int64_t bytes) noexcept;
  /// False: there was none.
  [[nodiscard]] bool give_up_reserve() noexcept;

 private:
  void open();
  void reopen_if_replaced();
  [[nodiscard]] bool lock(short kind, std::int64_t first, std::int64_t length) const;
  [[nodiscard]] bool others_hold(std::int64_t first, std::int64_t position) const;

  const std::string database_;
  const std::string path_;
  int file_ = -1;
  file_mark mark_;
  std::int64_t location_ = 0;  // the byte that stands for the boot id; 0: not entered
};

/// The turn, for the length of a scope.
class moving {
 public:
  explicit moving(lock_file& file) : at_(file), has_turn_(file.try_move()) {}
  moving(const moving&) = delete;
  moving& operator=(const moving&) = delete;
  ~moving() {
    if (has_turn_) at_.end_move();
  }
  [[nodiscard]] bool has_turn() const noexcept { return has_turn_; }

 private:
  lock_file& at_;
  const bool has_turn_;
};

}  // namespace onceguard::sqlite
