// What a person does with a dead letter, whoever asks for it: a command or the admin API.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "audit/audit_log.hpp"
#include "cli/messages/letters.hpp"
#include "consume/consume.hpp"
#include "consume/dead_letter_box.hpp"

namespace onceguard::cli::messages {

struct freed_key {
  std::string why{};            ///< it was not freed; empty: it was
  bool forgets_answer = false;  ///< this process may still serve it from memory
};

/// Frees the key of a record.
using free_key =
    std::function<boost::asio::awaitable<freed_key>(const record_view& before, resolution change)>;

/// What an act needs besides the letter. All must outlive it.
struct letter_desk {
  const consume::consume_params& params;
  consume::dead_letter_box& box;
  audit_log& log;
  const audit_author& author;
  free_key free{};  ///< for retry_letters
};

struct letter_end {
  bool done = false;                  ///< what was asked for, all of it
  std::string text{};                 ///< what became of the letter; empty: nothing was tried
  std::vector<std::string> faults{};  ///< what went wrong besides
};

/// Why a message can't be sent again as it is; empty: it can.
[[nodiscard]] std::string obstacle_to_retry(const known_letter& one);

/// How several letters are sent again.
struct retry_terms {
  consume::message_handler& handler;
  letter_desk& desk;
  std::function<bool()> goes_on;  ///< asked before each step; false: what is left is not begun
  /// What became of a letter that was begun.
  std::function<void(const known_letter&, const letter_end&)> say;
};

/// Frees the keys of those messages that did not take effect, and has each message handled once
/// more: where memories may still serve a forgotten answer, after one pause for all of those. A
/// letter that was handled leaves the box. What the terms name must outlive the call.
[[nodiscard]] boost::asio::awaitable<void> retry_letters(retry_terms terms,
                                                         std::vector<const known_letter*> letters);

/// The letter leaves the box; its record stays.
[[nodiscard]] letter_end drop_letter(letter_desk& desk, const known_letter& one);

}  // namespace onceguard::cli::messages
