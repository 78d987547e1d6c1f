// Dead letters and messages of unknown outcome beside their records: which ones a command means,
// and how they are shown.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <nlohmann/json_fwd.hpp>

#include <onceguard/store.hpp>

#include "cli/command.hpp"
#include "consume/dead_letter_box.hpp"

namespace onceguard::cli::messages {

/// What the record of a message says now.
enum class letter_state : std::uint8_t {
  unknown,     ///< nobody knows whether it took effect
  dead,        ///< it did not
  handled,     ///< it did, by now
  reused,      ///< the id belongs to a message with another payload
  running,     ///< an attempt runs, or is asked for
  waiting,     ///< an attempt failed; the next one may follow after its back-off
  free,        ///< no record, or one that was released: it runs when it comes
  keyless,     ///< it has no id, and so no record
  unreadable,  ///< the record can't be read
};
[[nodiscard]] std::string_view name_of(letter_state state) noexcept;

struct known_letter {
  consume::dead_letter letter;
  letter_state state = letter_state::free;
  std::optional<record_view> record{};
  std::string why{};  ///< unreadable: the reason
};

/// Which letters: of a key, or all that fit each of the conditions.
struct letter_choice {
  std::string subscriber;  ///< empty: of all
  std::string key;
  std::vector<std::string> states;
  std::string why;
  std::string text;
  std::string older;
  std::string younger;
  bool all = false;
  std::size_t limit = 1'000;
  std::string wait;

  /// Is there any condition besides the subscriber?
  [[nodiscard]] bool any() const;
  [[nodiscard]] bool fits(const known_letter& one) const;
};

/// Adds the flags. `choice` must live as long as the callback.
void add_letter_choice(const command& command, letter_choice& choice);

/// Reads the record of a letter.
[[nodiscard]] boost::asio::awaitable<result<known_letter>> find_record_of(
    record_access& records, const consume::consume_params& params, consume::dead_letter letter,
    milliseconds timeout);

/// One line for a list, without the line end.
[[nodiscard]] std::string letter_line(const std::string& subscriber, const known_letter& one);
/// The whole letter, in lines of "name  value", and the payload if it is text.
[[nodiscard]] std::string letter_page(const std::string& subscriber, const known_letter& one);
/// `whole`: with headers, properties and payload.
[[nodiscard]] nlohmann::ordered_json letter_json(const std::string& subscriber,
                                                 const known_letter& one, bool whole);

}  // namespace onceguard::cli::messages
