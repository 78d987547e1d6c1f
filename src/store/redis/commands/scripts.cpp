#include "store/redis/commands/scripts.hpp"

#include <algorithm>
#include <array>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "store/redis/transport/resp.hpp"

namespace onceguard::redis {
namespace {

struct script_traits {
  std::string_view name;
  /// Only a script that adds records is refused when the server is full: a granted lease must be
  /// settled, and a full store must be readable.
  std::string_view flags;
};
constexpr std::array<script_traits, script_count> scripts{{{"claim", "#!lua\n"},
                                                           {"swap", "#!lua flags=allow-oom\n"},
                                                           {"read", "#!lua flags=no-writes\n"},
                                                           {"greet", "#!lua flags=allow-oom\n"},
                                                           {"count", "#!lua flags=allow-oom\n"}}};

/// By which the server knows the script.
const std::string& digest_of(script which, bool flagged) {
  static const auto all = [] {
    std::array<std::array<std::string, 2>, script_count> out;
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (const bool has_flags : {false, true}) {
        out[i][has_flags ? 1 : 0] =
            base::to_hex(base::sha1_of(script_text(static_cast<script>(i), has_flags)));
      }
    }
    return out;
  }();
  return all[static_cast<std::size_t>(which)][flagged ? 1 : 0];
}

}  // namespace

std::string script_text(script which, bool flagged) {
  const auto& wanted = scripts.at(static_cast<std::size_t>(which));
  const auto sources = script_sources();
  const auto found = std::find_if(sources.begin(), sources.end(), [&](const script_source& each) {
    return each.name == wanted.name;
  });
  return std::string(flagged ? wanted.flags : std::string_view()) + std::string(found->text);
}

void append_call(std::string& text, script which, std::string_view key, std::string_view second,
                 std::initializer_list<std::string_view> arguments) {
  append_count(text, (second.empty() ? 4 : 5) + arguments.size());
  append_word(text, "EVALSHA");
  append_word(text, digest_of(which, true));
  append_word(text, second.empty() ? "1" : "2");
  append_word(text, key);
  if (!second.empty()) append_word(text, second);
  for (const auto word : arguments) append_word(text, word);
}

void call_without_flags(std::string& text, std::size_t begin, script which) {
  const auto& digest = digest_of(which, true);
  text.replace(text.find(digest, begin), digest.size(), digest_of(which, false));
}

}  // namespace onceguard::redis
