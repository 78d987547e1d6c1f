#include "cli/given_flags.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "config/options.hpp"

namespace onceguard::cli {
namespace {

using config::option;
using config::value_kind;

void add_flag(CLI::App& command, const option& o, const std::string& group, given_flags& given) {
  const auto name = "--" + std::string(o.flag);
  auto& texts = given.texts[std::string(o.flag)];
  std::string text(o.text);
  if (!o.fallback.empty()) text += " [" + std::string(o.fallback) + "]";
  CLI::Option* added = nullptr;
  if (o.kind == value_kind::boolean) {
    added = command.add_flag_callback(
        name, [&texts] { texts = {"true"}; }, text);
  } else {
    added = command.add_option(name, texts, text)->allow_extra_args(false);
    // A list may be given piece by piece; anything else only once.
    if (o.kind != value_kind::list && o.kind != value_kind::outcomes) added->expected(1);
    added->type_name(o.kind == value_kind::duration  ? "DURATION"
                     : o.kind == value_kind::size    ? "SIZE"
                     : o.kind == value_kind::integer ? "NUMBER"
                                                     : "TEXT");
  }
  added->group(group);
}

given_flags_ptr add_flags(CLI::App& command, const std::function<bool(const option&)>& wanted) {
  auto given = std::make_shared<given_flags>();
  command.add_option("--config", given->config, "The TOML file (or ONCEGUARD_CONFIG)")
      ->type_name("FILE");
  if (wanted(config::upstream_flag())) {
    add_flag(command, config::upstream_flag(), "Options", *given);
  }
  for (const auto& s : config::sections()) {
    for (const auto* o : s.options) {
      if (!o->flag.empty() && wanted(*o)) {
        add_flag(command, *o, "Configuration: " + std::string(s.title), *given);
      }
    }
  }
  return given;
}

config::sources::texts environment() {
  config::sources::texts found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (!text.starts_with("ONCEGUARD_") || equals == text.npos) continue;
    found.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return found;
}

}  // namespace

given_flags_ptr add_all_flags(CLI::App& command) {
  return add_flags(command, [](const option&) { return true; });
}

given_flags_ptr add_store_flags(CLI::App& command, const std::vector<std::string_view>& also) {
  return add_flags(command, [&](const option& o) {
    return o.flag == "store" || o.flag == "store-timeout" ||
           std::find(also.begin(), also.end(), o.flag) != also.end();
  });
}

config::sources sources_of(const given_flags& given, bool need_upstream) {
  config::sources from;
  from.environment = environment();
  from.need_upstream = need_upstream;
  from.file = given.config;
  if (from.file.empty()) from.file = from.environment["ONCEGUARD_CONFIG"];
  for (const auto& [flag, texts] : given.texts) {
    if (texts.empty()) continue;
    std::string joined;
    for (const auto& text : texts) joined += (joined.empty() ? "" : ",") + text;
    from.flags[flag] = joined;
  }
  return from;
}

std::optional<config::settings> load_settings(const given_flags& given, bool need_upstream) {
  auto read = config::load(sources_of(given, need_upstream));
  if (read.ok()) return std::move(read.values);
  for (const auto& r : read.said) {
    if (r.weight == config::remark::grade::fault) std::cerr << r.text() << "\n";
  }
  return std::nullopt;
}

}  // namespace onceguard::cli
