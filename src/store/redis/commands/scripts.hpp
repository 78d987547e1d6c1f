// The scripts in lua/, which are a part of the program. The server keeps them by their digests.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace onceguard::redis {

/// A file of lua/.
struct script_source {
  std::string_view name;
  std::string_view text;
};
[[nodiscard]] std::span<const script_source> script_sources() noexcept;

enum class script : std::uint8_t { claim, swap, read, greet, count };
inline constexpr std::size_t script_count = 5;

/// A script as SCRIPT LOAD takes it. `flagged`: the server (Redis 7) knows flags of scripts.
[[nodiscard]] std::string script_text(script which, bool flagged);

/// Appends the call of a script to the outgoing bytes. `second`: another key; empty: none.
void append_call(std::string& text, script which, std::string_view key, std::string_view second,
                 std::initializer_list<std::string_view> arguments);
/// Makes the call that begins there fit for a server that knows no flags of scripts.
void call_without_flags(std::string& text, std::size_t begin, script which);

}  // namespace onceguard::redis
