// What a load said, a line each.
#pragma once
#include <string>

#include "config/load.hpp"

namespace onceguard::config {

inline std::string texts_of(const loaded& read) {
  std::string out;
  for (const auto& r : read.remarks) out += r.text() + "\n";
  return out;
}

}  // namespace onceguard::config
