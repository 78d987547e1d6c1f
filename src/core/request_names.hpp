// Names that Onceguard gives to what requests are made of.
#pragma once
#include <string_view>

namespace onceguard::core {

/// The kind of scope of the mark that a store has with a key pepper (store/pepper.hpp). No request
/// has it, or its caller could make the mark.
inline constexpr std::string_view mark_scope_kind = "onceguard pepper";
/// Of the fingerprint that a caller gives as bytes, here and in onceguard.claim of SQL.
inline constexpr std::string_view application_print = "application";

}  // namespace onceguard::core
