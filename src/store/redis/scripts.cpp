#include "store/redis/scripts.hpp"

#include "base/hash.hpp"
#include "store/redis/command.hpp"

namespace onceguard::redis {
namespace {

constexpr std::string_view library = "onceguard_2";
constexpr std::array<std::string_view, script_count> functions{
    "onceguard_2_claim",  "onceguard_2_settle", "onceguard_2_extend", "onceguard_2_resolve",
    "onceguard_2_find",   "onceguard_2_head",   "onceguard_2_scan",   "onceguard_2_greet",
    "onceguard_2_vitals", "onceguard_2_adopt",  "onceguard_2_reserve"};

std::size_t index_of(script which) noexcept { return static_cast<std::size_t>(which); }

/// "claim"
std::string_view name_of(script which) noexcept {
  return functions[index_of(which)].substr(library.size() + 1);
}

/// The script's flags for the server. Only a script that adds records is refused when the server is
/// full: a granted lease must be settled, and a full store must be readable.
std::string_view flags_of(script which) noexcept {
  const bool only_reads = which == script::find || which == script::head || which == script::scan;
  if (only_reads) return "flags={'no-writes'}";
  if (which == script::claim || which == script::import_record) return "flags={}";
  return "flags={'allow-oom'}";
}

/// The texts of the files up to the one with this script.
std::string sources_of(script which) {
  const auto definition = "local function " + std::string(name_of(which)) + "(";
  std::string out;
  for (const auto& each : script_sources()) {
    out += each.text;
    if (each.text.find(definition) != std::string_view::npos) break;
  }
  return out;
}

}  // namespace

std::string_view function_name(script script) noexcept { return functions[index_of(script)]; }
std::string_view library_name() noexcept { return library; }

const std::string& library_digest() {
  static const std::string digest = [] {
    base::sha256 sum;
    for (const auto& each : script_sources()) sum.part(each.text);
    return base::to_hex(sum.finish());
  }();
  return digest;
}

const std::string& library_text() {
  static const std::string whole = [] {
    std::string out =
        "#!lua name=" + std::string(library) + "\nlocal LIBRARY = '" + library_digest() + "'\n";
    for (const auto& each : script_sources()) out += each.text;
    for (std::size_t i = 0; i < script_count; ++i) {
      const auto which = static_cast<script>(i);
      out += "redis.register_function{function_name='" + std::string(function_name(which)) +
             "', callback=" + std::string(name_of(which)) + ", " + std::string(flags_of(which)) +
             "}\n";
    }
    return out;
  }();
  return whole;
}

std::string script_text(script script) {
  return "local LIBRARY = ''\n" + sources_of(script) + "return " + std::string(name_of(script)) +
         "(KEYS, ARGV)\n";
}

void append_call(std::string& text, const script_calls& scripts, script which,
                 std::string_view first, std::span<const std::string> others,
                 std::initializer_list<std::string_view> arguments) {
  const std::size_t names = first.empty() ? 0 : 1 + others.size();
  append_count(text, 3 + names + arguments.size());
  append_word(text, scripts.functions ? "FCALL" : "EVALSHA");
  append_word(text, scripts.functions ? function_name(which) : scripts.digests[index_of(which)]);
  append_word(text, decimal(names));
  if (names > 0) {
    append_word(text, first);
    for (const auto& word : others) append_word(text, word);
  }
  for (const auto word : arguments) append_word(text, word);
}

}  // namespace onceguard::redis
