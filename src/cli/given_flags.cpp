#include "cli/given_flags.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <unistd.h>

#include "base/ascii.hpp"
#include "config/all_options.hpp"
#include "config/table/parsers.hpp"
#include "config/table/secret_file.hpp"
#include "http1/message.hpp"
#include "store/pepper.hpp"

namespace onceguard::cli {

namespace {

std::string field_fault(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == text.npos || !http1::is_token(std::string_view(text).substr(0, colon))) {
    return "expected \"Name: value\"";
  }
  if (!http1::is_field_value(base::trim(std::string_view(text).substr(colon + 1)))) {
    return "a value without control characters was expected";
  }
  return {};
}

}  // namespace

argument reason_argument(std::string& reason) {
  return {"--reason", &reason, "Why you do it, for the audit log", typed("TEXT")};
}

void add_header_flag(const command& command, message_flags& given) {
  command.add({{"-H,--header", &given.headers, "A header field, as \"Name: value\"",
                typed("FIELD", field_fault)}});
}

void add_message_flags(const command& command, message_flags& given) {
  add_header_flag(command, given);
  command.add({{"--body", &given.body, "The body", typed("TEXT")},
               {"--body-file",
                &given.body_file,
                "The body, from a file",
                {.type = "FILE", .existing_file = true, .excludes = "--body"}}});
}

std::vector<std::pair<std::string, std::string>> fields_of(const message_flags& given) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const auto& text : given.headers) {
    const auto colon = text.find(':');
    fields.emplace_back(text.substr(0, colon),
                        base::trim(std::string_view(text).substr(colon + 1)));
  }
  return fields;
}

std::string body_of(const message_flags& given) {
  if (given.body_file.empty()) return given.body;
  std::ifstream file(given.body_file, std::ios::binary);
  std::string body{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) throw std::runtime_error(given.body_file + ": can't be read");
  return body;
}

namespace {

using config::option;
using config::value_kind;

void add_flag(const command& command, const option& o, const std::string& group,
              given_flags& given) {
  const auto name = "--" + std::string(o.flag);
  auto& texts = given.texts[std::string(o.flag)];
  std::string text(o.text);
  if (!o.fallback.empty()) text += " [" + std::string(o.fallback) + "]";
  if (o.kind == value_kind::boolean) {
    command.add({{name, [&texts] { texts = {"true"}; }, text, {.group = group}}});
  } else {
    const auto* type = o.kind == value_kind::duration  ? "DURATION"
                       : o.kind == value_kind::size    ? "SIZE"
                       : o.kind == value_kind::integer ? "NUMBER"
                                                       : "TEXT";
    // A list may be given piece by piece, other options only once.
    const bool once = o.kind != value_kind::list && o.kind != value_kind::outcomes;
    command.add({{name, &texts, text, {.type = type, .once = once, .group = group}}});
  }
  if (!o.secret) return;
  const auto file = config::file_flag_of(o);
  command.add({{"--" + file,
                &given.texts[file],
                "A file with the value of " + name,
                {.type = "FILE", .once = true, .group = group}}});
}

given_flags_ptr add_flags(const command& command,
                          const std::function<bool(const option&)>& wanted) {
  auto given = std::make_shared<given_flags>();
  command.add({{"--config", &given->config, "The TOML file (or ONCEGUARD_CONFIG)", typed("FILE")}});
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

given_flags_ptr add_all_flags(const command& command) {
  return add_flags(command, [](const option&) { return true; });
}

given_flags_ptr add_store_flags(const command& command, const std::vector<std::string_view>& also) {
  return add_flags(command, [&](const option& o) {
    return o.flag == "store" || o.flag == "store-timeout" || o.flag == "encryption-keys-file" ||
           o.flag == "key-pepper-file" || std::find(also.begin(), also.end(), o.flag) != also.end();
  });
}

config::sources sources_of(const given_flags& given, bool need_upstream) {
  config::sources source;
  source.environment = environment();
  source.need_upstream = need_upstream;
  source.file = given.config;
  if (source.file.empty()) source.file = source.environment["ONCEGUARD_CONFIG"];
  for (const auto& [flag, texts] : given.texts) {
    if (texts.empty()) continue;
    std::string joined;
    for (const auto& text : texts) joined += (joined.empty() ? "" : ",") + text;
    source.flags[flag] = joined;
  }
  return source;
}

std::optional<config::settings> load_settings(const given_flags& given, bool need_upstream) {
  auto read = load_config(given, need_upstream);
  if (!read) return std::nullopt;
  return std::move(read->values);
}

std::optional<config::loaded> load_config(const given_flags& given, bool need_upstream) {
  auto read = config::load(sources_of(given, need_upstream));
  if (read.ok()) {
    // Filters are made of keys before a store is opened.
    const auto used = use_pepper(read.values.store.key_pepper_file);
    if (used) return read;
    std::cerr << used.error().detail << "\n";
    return std::nullopt;
  }
  for (const auto& r : read.remarks) {
    if (r.weight == config::remark::grade::fault) std::cerr << r.text() << "\n";
  }
  return std::nullopt;
}

}  // namespace onceguard::cli
