// What an examination of a running system has found, and what to do about it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace onceguard::base {

struct diagnosis {
  enum class grade : std::uint8_t {
    ok,
    note,     ///< useful to know
    warning,  ///< a promise is weaker than it may seem
    fault,    ///< something does not work
  };
  grade level = grade::ok;
  std::string id;             ///< of what was examined: "listen", "store-clock"; scripts rely on it
  std::string text;           ///< what was found, for people
  std::string remedy;         ///< what to do; empty: nothing
  bool out_of_reach = false;  ///< of the store: nothing can be claimed until it is back
};
using diagnoses = std::vector<diagnosis>;

}  // namespace onceguard::base
