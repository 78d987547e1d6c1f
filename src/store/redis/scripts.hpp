// The scripts in lua/, which are a part of the program: as one library of functions (Redis 7), or
// each as a separate script (6.2). docs/redis.md documents the calls for other programs.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace onceguard::redis {

/// A file of lua/. It may use the files before it.
struct script_source {
  std::string_view name;
  std::string_view text;
};
[[nodiscard]] std::span<const script_source> script_sources() noexcept;

enum class script : std::uint8_t {
  claim,
  settle,
  extend,
  resolve,
  find,
  head,
  scan,
  greet,
  vitals,
  import_record,
  reserve,
};
inline constexpr std::size_t script_count = 11;

/// "onceguard_2_claim": the number changes whenever an older program could not call it.
[[nodiscard]] std::string_view function_name(script script) noexcept;
/// The name of the library of functions, and its text as FUNCTION LOAD takes it.
[[nodiscard]] std::string_view library_name() noexcept;
[[nodiscard]] const std::string& library_text();
/// The digest of the library's text, by which a loaded library is recognised.
[[nodiscard]] const std::string& library_digest();
/// A script as SCRIPT LOAD takes it.
[[nodiscard]] std::string script_text(script script);

/// How a connection calls the scripts.
struct script_calls {
  bool functions = true;
  std::array<std::string, script_count> digests;  ///< without functions: of SCRIPT LOAD
};

/// Appends the call of a script to the outgoing bytes. The key names are `first` and the others;
/// none if `first` is empty.
void append_call(std::string& text, const script_calls& scripts, script which,
                 std::string_view first, std::span<const std::string> others,
                 std::initializer_list<std::string_view> arguments);

}  // namespace onceguard::redis
