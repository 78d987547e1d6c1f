#include "cli/change_log.hpp"

#include <iostream>
#include <unistd.h>
#include <utility>

#include "base/log.hpp"
#include "cli/command.hpp"

namespace onceguard::cli {

namespace {

class log_of_another final : public audit_log {
  result<void> write(const audit_author&, const audited_change&, const std::string&) override {
    return {};
  }
};

/// On a terminal, the command itself says what it did: lines for programs would stand amid that.
bool for_people(const std::string& file) { return file.empty() && ::isatty(STDERR_FILENO) == 1; }

}  // namespace

std::unique_ptr<change_log> change_log::open(const config::settings& settings, std::string means,
                                             std::string why) {
  auto log = audit_log::open(settings.gateway.audit_log);
  if (!log) {
    std::cerr << "onceguard: " << log.error().detail << "; nothing was changed\n";
    return nullptr;
  }
  if (for_people(settings.gateway.audit_log)) log = std::unique_ptr<audit_log>(new log_of_another);
  audit_author author{machine_user(), std::move(means), std::move(why)};
  return std::unique_ptr<change_log>(new change_log(settings, std::move(*log), std::move(author)));
}

std::unique_ptr<change_log> change_log::of_gateway(std::string means, std::string why) {
  return std::unique_ptr<change_log>(
      new change_log(config::settings(), std::make_unique<log_of_another>(),
                     audit_author{machine_user(), std::move(means), std::move(why)}));
}

change_log::change_log(const config::settings& settings, std::unique_ptr<audit_log> log,
                       audit_author author)
    : lines_(settings.log), log_(std::move(log)), author_(std::move(author)) {
  base::set_log_sink(&lines_);
}

change_log::~change_log() { base::set_log_sink(nullptr); }

int run_change(const given_flags& given, const std::string& means, const std::string& why, bool dry,
               const change_work& work, missing_file if_missing) {
  const auto settings = load_settings(given, false);
  if (!settings) return exit_configuration;
  const auto changes = dry ? nullptr : change_log::open(*settings, means, why);
  if (!changes && !dry) return exit_failed;
  return with_store(
      *settings, [&](store& records) { return work(records, *settings, changes.get()); },
      if_missing);
}

}  // namespace onceguard::cli
