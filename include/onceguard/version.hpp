// The version of these headers: MAJOR.MINOR.PATCH, as docs/stability.md explains it. The build
// takes the version of the project, the package and the program from here.
#pragma once
#include <string_view>

/// The same as a number, for `#if`: 10000 × MAJOR + 100 × MINOR + PATCH.
#define ONCEGUARD_VERSION 200

/// All of the library. `v1` is the version of its ABI: objects that were compiled with the headers
/// of another one do not link. Code that uses the library never writes it.
namespace onceguard {
inline namespace v1 {

/// The version of the headers that a program was compiled with, such as "1.2.3".
inline constexpr std::string_view version = "0.2.0";

}  // namespace v1
}  // namespace onceguard
