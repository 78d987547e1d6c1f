// What a caller of the admin API wants done with dead letters.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

#include "cli/messages/letters.hpp"

namespace onceguard::cli {

/// One letter as the caller saw it.
struct seen_letter {
  std::string message;      ///< letter_name()
  std::string state;        ///< of its record then
  std::uint64_t token = 0;  ///< 0: it had no record
};

struct letter_request {
  std::string reason;
  std::vector<seen_letter> messages;
  bool dry = true;
};

/// Names a letter by what it is, as the tags of a broker are those of one connection. Copies have
/// one name.
[[nodiscard]] std::string letter_name(const consume::dead_letter& letter);

/// Of its record; 0: there is none that can be read.
[[nodiscard]] std::uint64_t token_of(const known_letter& one);

/// errc::invalid_argument: the body is another one than was expected.
[[nodiscard]] result<letter_request> read_letter_request(std::string_view body);

}  // namespace onceguard::cli
