// What a load said, a line each.
#pragma once
#include <string>

#include "config/load.hpp"

namespace onceguard::config {

inline std::string said(const loaded& read) {
  std::string out;
  for (const auto& r : read.said) out += r.text() + "\n";
  return out;
}

}  // namespace onceguard::config
