// The canonical JSON of a text, and of a number, for the suites that check it.
#pragma once
#include <string>
#include <string_view>

#include <onceguard/fingerprint.hpp>

#include "json/scalars.hpp"

namespace onceguard {

inline std::string canonical(std::string_view text) { return canonical_json(text).value(); }

inline std::string written(double value) {
  std::string out;
  append_json_number(out, value);
  return out;
}

}  // namespace onceguard
