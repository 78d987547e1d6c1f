// An operator's change of one record, with its two lines in the audit log: the only way by which
// the commands and the admin API change records.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "audit/audit_log.hpp"
#include "store/resolve.hpp"

namespace onceguard {

/// Who makes the change, what it is called, and where that is written.
struct audit_context {
  audit_log& log;
  const audit_author& author;
  std::string_view action;  ///< as audited_change::action
};

struct audited_end {
  /// As resolve_surely(). If the first line could not be written, its error: nothing was changed.
  result<resolve_decision> resolved;
  std::optional<error> unwritten;  ///< why the second line could not be written
};

/// Writes the change into the audit log, resolves the record `before` (none: it can't be read), and
/// writes what became of it. A line that can't be written is also the event audit_not_written. The
/// context must outlive the call.
[[nodiscard]] boost::asio::awaitable<audited_end> resolve_audited(
    record_access& records, std::optional<record_view> before, resolution change,
    audit_context context, resolve_times times, std::function<void()> report_wait = {});

}  // namespace onceguard
