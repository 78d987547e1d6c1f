// Keys that are kept as their HMAC: the secret for it in a file, and the mark by which a store
// knows the pepper that its keys were kept with from the first one on.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <onceguard/error.hpp>
#include <onceguard/store.hpp>

#include "core/kept_key.hpp"

namespace onceguard {

/// The bytes of the file, without the end of its last line: at least 32. The error begins with the
/// path and never repeats them.
[[nodiscard]] result<std::unique_ptr<const core::key_pepper>> read_pepper(const std::string& path);

/// From now on, this process keeps its keys with the pepper of this file; empty: in the clear. A
/// file that is in use is not read again.
[[nodiscard]] result<void> use_pepper(const std::string& path);

enum class mark_rule : std::uint8_t {
  make,     ///< the store is about to get keys of this process
  compare,  ///< a store without a mark is only looked at
};
/// Whether keys of this process may meet those of the store. errc::invalid_argument: they were kept
/// with another pepper, or with none while this process has one, or the other way round: an
/// operation would run twice. Blocks.
[[nodiscard]] result<void> check_pepper(store& records, milliseconds timeout, mark_rule rule);

/// Of the record that is the mark. It is no operation, and nobody may end it.
[[nodiscard]] const record_id& pepper_mark_id();

/// Gives the records of a file, which come from another store, the form that this process keeps
/// keys in.
class imported_keys {
 public:
  /// Of each record of the file, before the first one comes in: whose keys they are.
  void note(const imported_record& one);
  /// errc::invalid_argument: no record of the file may come in.
  [[nodiscard]] result<void> fit() const;
  /// errc::invalid_argument: this one may not.
  [[nodiscard]] result<void> keep(imported_record& one) const;

 private:
  std::optional<digest> mark_;  // of the pepper of the store that they come from
};

}  // namespace onceguard
