// `keys release` and `keys complete` for all records that a filter chooses.
#pragma once
#include <functional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "cli/change_log.hpp"
#include "cli/keys/filter_flags.hpp"
#include "cli/keys/find_records.hpp"

namespace onceguard::cli::keys {

/// The flags of a command that takes KEY or a filter, and a reason for the audit log.
struct selection_flags {
  key_choice choice;
  filter_flags filter;
  bool yes = false;
  std::string reason;
  std::string seen;  ///< of KEY: seen_text() of the record that a person looked at; empty: any

  [[nodiscard]] bool several() const noexcept { return choice.key.empty(); }
  /// Nothing is to be changed.
  [[nodiscard]] bool dry() const noexcept { return several() && !yes; }
};
void add_selection_flags(const command& command, selection_flags& flags);

/// Whether there is either KEY or a filter, and what was seen is a text of `keys show`; otherwise a
/// message on standard error says so.
[[nodiscard]] bool well_chosen(const selection_flags& flags);

/// Binds the change of KEY to what a person looked at before, with an earlier command.
void bind_to_seen(const selection_flags& flags, resolution& change);

/// Makes the resolution of one record.
using resolution_maker = std::function<resolution(const record_view&)>;

/// Prints what the filter chooses; with `flags.yes` also resolves it. Without a state in the
/// filter, only unknown records are chosen. What can't be read is printed, and left alone.
/// `changes`: null without `flags.yes`. Returns the exit code: exit_failed if a record was not
/// resolved, exit_not_found if none is chosen.
[[nodiscard]] boost::asio::awaitable<int> resolve_selection(record_access& records,
                                                            const selection_flags& flags,
                                                            const resolution_maker& make,
                                                            change_log* changes,
                                                            milliseconds timeout);

}  // namespace onceguard::cli::keys
