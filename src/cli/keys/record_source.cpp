#include "cli/keys/record_source.hpp"

#include <algorithm>
#include <iostream>

#include "cli/store_work.hpp"

namespace onceguard::cli::keys {
namespace {

bool is_configured(const given_flags& given) {
  return !given.config.empty() ||
         std::any_of(given.texts.begin(), given.texts.end(),
                     [](const auto& flag) { return !flag.second.empty(); });
}

/// None: a message on standard error says why.
std::optional<admin::admin_target> target_of(const record_source& source) {
  if (!is_configured(*source.configured)) return read_target(source.admin);
  std::cerr
      << "onceguard: with --admin the configuration of the gateway counts; leave out --config "
         "and its flags, such as --store\n";
  return std::nullopt;
}

}  // namespace

record_source_ptr add_record_source(const command& command,
                                    const std::vector<std::string_view>& also) {
  auto source = std::make_shared<record_source>();
  add_admin_flags(command, source->admin,
                  "Ask the gateway with this admin listener, instead of the store");
  source->configured = add_store_flags(command, also);
  return source;
}

int with_records(const record_source& source, const record_work& work) {
  if (source.admin.address.empty()) {
    const auto settings = load_settings(*source.configured, false);
    if (!settings) return exit_configuration;
    return with_store(*settings, [&](store& records) { return work(records, *settings); });
  }
  const auto target = target_of(source);
  if (!target) return exit_usage;
  const config::settings defaults;
  admin::remote_records records(*target, admin::answer_bodies::asked);
  return run_work([&] { return work(records, defaults); });
}

int change_records(const record_source& source, const change_reason& reason,
                   const record_change_work& work) {
  if (source.admin.address.empty()) {
    return run_change(*source.configured, reason.means, reason.why, reason.dry, work);
  }
  const auto target = target_of(source);
  if (!target) return exit_usage;
  if (!reason.dry && reason.why.empty()) {
    std::cerr << "onceguard: --reason is missing: with --admin a change needs one\n";
    return exit_usage;
  }
  const config::settings defaults;
  const auto changes = change_log::of_gateway(reason.means, reason.why);
  admin::remote_records records(*target, admin::answer_bodies::left_out, reason.why);
  return run_work([&] { return work(records, defaults, reason.dry ? nullptr : changes.get()); });
}

}  // namespace onceguard::cli::keys
