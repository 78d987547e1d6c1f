// The errors for records and calls that lack something.
#pragma once
#include <string>

#include <onceguard/error.hpp>

namespace onceguard {

/// The error for a claim without its subject, and for a settle that would write a record without
/// one.
[[nodiscard]] inline error subject_missing() {
  return error(errc::invalid_argument, "a claim, and a settle of a lost record, need a subject");
}

/// The error for a stored record that can't be read.
[[nodiscard]] inline error unreadable(const std::string& why) {
  return error(errc::record_unreadable, "stored record: " + why);
}

/// Of a settle: it counts, and the record's answer, which may be another than the holder's, can't
/// be read now.
[[nodiscard]] inline bool hides_answer(const error& of_settle) noexcept {
  return of_settle.code == errc::record_unreadable && of_settle.effect == effect::done;
}

/// The error for a stored record without a subject, for which no claim can be decided.
[[nodiscard]] inline error subject_unreadable() { return unreadable("it has no subject"); }

/// The error for a record of work in steps, in a store of this name that keeps no recovery points.
[[nodiscard]] inline error recovery_refused(const std::string& name) {
  return error(errc::invalid_argument,
               name +
                   ": this is work in steps, and its finished steps are kept only where an "
                   "application can go on with it: in PostgreSQL, or in the application's own "
                   "SQLite database");
}

}  // namespace onceguard
