// Runs a command's work on the dead letters of the subscribers of a configuration.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>

#include <onceguard/guard.hpp>

#include "cli/change_log.hpp"
#include "cli/given_flags.hpp"
#include "cli/messages/letters.hpp"

namespace onceguard::cli::messages {

/// The letters of one subscriber that were chosen, and what a command needs to act on them.
struct chosen_letters {
  const consume::consume_params& params;
  const config::settings& settings;
  guard& records;
  consume::dead_letter_box& box;
  change_log* changes;  ///< null: nothing is to be changed
  std::vector<known_letter> letters;
};

/// Returns the exit code of this subscriber.
using letters_work = std::function<boost::asio::awaitable<int>(chosen_letters&)>;

struct message_terms {
  const given_flags& given;
  const letter_choice& choice;
  std::string means;    ///< "messages retry"
  std::string why{};    ///< for the audit log
  bool changes = true;  ///< else nothing is to be changed
};

/// Takes the letters of each subscriber that was chosen, calls the work, and puts back what was not
/// removed. Returns the exit code: of the work, the worst; exit_not_found if no letter was chosen.
[[nodiscard]] int with_letters(const message_terms& terms, const letters_work& work);

}  // namespace onceguard::cli::messages
