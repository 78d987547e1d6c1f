// What a caller of the admin API wants done with dead letters.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/error.hpp>

#include "cli/messages/letters.hpp"

namespace onceguard::cli::services {

/// One letter as the caller saw it.
struct seen_letter {
  std::string message;                     ///< of letter_names
  std::string state;                       ///< of its record then
  std::uint64_t token = 0;                 ///< 0: it had no record
  std::optional<std::int64_t> revision{};  ///< of its record; none: it is not compared
};

struct letter_request {
  std::string reason;
  std::vector<seen_letter> messages;
  bool dry = true;
};

/// Names letters by what they are, as the tags of a broker are those of one connection. Of copies,
/// which nothing tells apart, the second and later ones have a number: each is shown, and an act is
/// for as many of them as were chosen.
class letter_names {
 public:
  /// Of the next letter of a look.
  [[nodiscard]] std::string next(const consume::dead_letter& letter);

 private:
  std::map<std::string, std::size_t> seen_;
};

/// Of its record; 0: there is none that can be read.
[[nodiscard]] std::uint64_t token_of(const messages::known_letter& one);
/// Of its record, as of record_view.
[[nodiscard]] std::optional<std::int64_t> revision_of(const messages::known_letter& one);

/// errc::invalid_argument: the body is another one than was expected.
[[nodiscard]] result<letter_request> read_letter_request(std::string_view body);
/// The reason of a look, which may be missing; errors as above.
[[nodiscard]] result<std::string> read_poll_request(std::string_view body);

}  // namespace onceguard::cli::services
