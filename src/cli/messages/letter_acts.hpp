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

namespace onceguard::cli {

/// Frees the key of a record: why it did not; empty: it did.
using free_key = std::function<boost::asio::awaitable<std::string>(const record_view& before,
                                                                   resolution change)>;

/// What an act needs besides the letter. All must outlive it.
struct letter_desk {
  const consume::consume_params& params;
  consume::dead_letter_box& box;
  audit_log& log;
  const audit_author& author;
  free_key free{};  ///< for retry_letter
};

struct letter_end {
  bool done = false;                  ///< what was asked for, all of it
  std::string text{};                 ///< what became of the letter; empty: nothing was tried
  std::vector<std::string> faults{};  ///< what went wrong besides
};

/// Why a message can't be sent again as it is; empty: it can.
[[nodiscard]] std::string obstacle_to_retry(const known_letter& one);

/// Frees the key where the message did not take effect, and has it handled once more; a letter that
/// was handled leaves the box.
[[nodiscard]] boost::asio::awaitable<letter_end> retry_letter(consume::message_handler& handler,
                                                              letter_desk& desk,
                                                              const known_letter& one);

/// The letter leaves the box; its record stays.
[[nodiscard]] letter_end drop_letter(letter_desk& desk, const known_letter& one);

}  // namespace onceguard::cli
