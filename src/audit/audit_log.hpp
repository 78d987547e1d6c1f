// The audit log: each change of a record that a person or reconcile makes, who made it, and why.
//
// A change is written twice: as intended before it is made, so that nothing changes without a line,
// and with what became of it.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "audit/audit_history.hpp"

namespace onceguard {

/// Who changes records, and by which means.
struct audit_author {
  std::string name;   ///< a user of the machine, or the role and name of a token
  std::string means;  ///< "keys release", "reconcile", "admin"
  std::string why;    ///< the reason that was given; may be empty
};

struct audited_change {
  std::string_view action;          ///< "complete", "release", "delete", "import" or "show"
  std::optional<record_id> record;  ///< none: many at once
  std::string key;                  ///< empty: not known
  std::string former;               ///< the state before: a name of observed_state, "unreadable"
  std::string wanted;               ///< the state that is wanted
  std::string about{};              ///< what else belongs to it: a file, numbers
};

/// Thread-safe. A file is written by the caller, see line_file.
class audit_log {
 public:
  /// Appends JSON lines to the file, which it makes with the mode 0600, and flushes each to the
  /// disk. Empty: events of the log, each of which has left the process before the change.
  [[nodiscard]] static result<std::unique_ptr<audit_log>> open(const std::string& file);
  virtual ~audit_log() = default;
  /// Opens the file anew, for log rotation. After an error the former one goes on.
  [[nodiscard]] virtual result<void> reopen() { return {}; }
  audit_log(const audit_log&) = delete;
  audit_log& operator=(const audit_log&) = delete;

  /// Call before the change. An error: the line could not be written, and nothing may be changed.
  [[nodiscard]] result<void> intend(const audit_author& author, const audited_change& change);
  /// Call after the change: `outcome` is "done", or the reason why nothing was changed, or that
  /// this is not known.
  [[nodiscard]] result<void> conclude(const audit_author& author, const audited_change& change,
                                      const std::string& outcome);
  /// Call before a stored answer is shown to somebody: one line. An error: it must not be shown.
  [[nodiscard]] result<void> show(const audit_author& author, const audited_change& shown);
  /// The newest lines that fit: of the file, or of this process where a stream has them.
  [[nodiscard]] virtual result<audit_page> read(const audit_query& query) const;

 protected:
  audit_log() = default;

 private:
  [[nodiscard]] result<void> add(const audit_author& author, const audited_change& change,
                                 const std::string& stage);
  virtual result<void> write(const audit_author& author, const audited_change& change,
                             const std::string& stage) = 0;

  recent_audit recent_;
};

/// What became of a change of one record, for conclude().
[[nodiscard]] std::string_view outcome_text(const result<resolve_decision>& resolved);

/// The user of the machine who runs this process: "alice", or "root for alice" with sudo.
[[nodiscard]] std::string machine_user();

}  // namespace onceguard
