// Where a command finds the records: in a store, or behind the admin listener of a gateway.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "cli/admin_flags.hpp"
#include "cli/change_log.hpp"
#include "cli/given_flags.hpp"
#include "config/settings.hpp"

namespace onceguard::cli::keys {

/// The flags as given. Lives as long as the command's callback.
struct record_source {
  given_flags_ptr configured;  ///< of the store
  admin_flags admin;           ///< with an address: instead of the store
};
using record_source_ptr = std::shared_ptr<record_source>;

/// Adds the flags of a store, those in `also`, and --admin.
[[nodiscard]] record_source_ptr add_record_source(const command& command,
                                                  const std::vector<std::string_view>& also = {});

/// A command's work on records. Returns the exit code. With --admin, the settings are the defaults:
/// those of the gateway count.
using record_work =
    std::function<boost::asio::awaitable<int>(record_access&, const config::settings&)>;
/// The same with changes, whose log is null where nothing is to be changed.
using record_change_work = std::function<boost::asio::awaitable<int>(
    record_access&, const config::settings&, change_log*)>;

/// Runs the work, and returns the exit code.
[[nodiscard]] int with_records(const record_source& source, const record_work& work);

/// `means` and `why`: as change_log::open(). With --admin the gateway writes the audit log.
struct change_reason {
  std::string means;
  std::string why;
  bool dry = false;  ///< nothing is to be changed
};
[[nodiscard]] int change_records(const record_source& source, const change_reason& reason,
                                 const record_change_work& work);

}  // namespace onceguard::cli::keys
