// The audit log of a command that changes records.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "audit/audit_log.hpp"
#include "cli/given_flags.hpp"
#include "cli/log/log_lines.hpp"
#include "cli/store_work.hpp"
#include "config/settings.hpp"

namespace onceguard::cli {

/// While it lives, the log of the program goes to standard error.
class change_log {
 public:
  /// `means`: the command, "keys release". Null, with a message on standard error, if the audit log
  /// can't be opened.
  [[nodiscard]] static std::unique_ptr<change_log> open(const config::settings& settings,
                                                        std::string means, std::string why);
  /// For changes by a gateway, which writes them into its audit log itself.
  [[nodiscard]] static std::unique_ptr<change_log> of_gateway(std::string means, std::string why);
  ~change_log();
  change_log(const change_log&) = delete;
  change_log& operator=(const change_log&) = delete;

  [[nodiscard]] audit_log& log() noexcept { return *log_; }
  [[nodiscard]] const audit_author& author() const noexcept { return author_; }

 private:
  change_log(const config::settings& settings, std::unique_ptr<audit_log> log, audit_author author);

  log::log_lines lines_;
  const std::unique_ptr<audit_log> log_;
  const audit_author author_;
};

/// A command's work on its store and its audit log, which is null where nothing is to be changed.
using change_work =
    std::function<boost::asio::awaitable<int>(store&, const config::settings&, change_log*)>;

/// Loads the settings, opens the audit log unless `dry`, and then the store. Returns the exit code.
[[nodiscard]] int run_change(const given_flags& given, const std::string& means,
                             const std::string& why, bool dry, const change_work& work,
                             missing_file if_missing = missing_file::refused);

}  // namespace onceguard::cli
