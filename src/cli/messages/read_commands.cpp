#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/messages/message_work.hpp"
#include "text/record_json.hpp"

namespace onceguard::cli {
namespace {

using boost::asio::awaitable;

struct read_request {
  letter_choice choice;
  bool json = false;
  bool payload = false;
};

awaitable<int> list_letters(chosen_letters& chosen, bool json) {
  const auto& name = chosen.params.subscriber;
  for (const auto& one : chosen.letters) {
    std::cout << (json ? json_line(letter_json(name, one, false)) : letter_line(name, one)) << "\n";
  }
  co_return exit_ok;
}

awaitable<int> show_letters(chosen_letters& chosen, const read_request& request) {
  const auto& name = chosen.params.subscriber;
  for (const auto& one : chosen.letters) {
    if (request.payload) {
      const auto& payload = one.letter.content.payload;
      std::cout.write(payload.data(), static_cast<std::streamsize>(payload.size()));
      co_return exit_ok;  // copies have the same
    }
    if (request.json) {
      std::cout << json_line(letter_json(name, one, true)) << "\n";
    } else {
      std::cout << letter_page(name, one);
    }
  }
  co_return exit_ok;
}

int run_list(const given_flags& given, const read_request& request) {
  const message_terms terms{given, request.choice, "messages list", {}, false};
  const int code = with_letters(
      terms, [&](chosen_letters& chosen) { return list_letters(chosen, request.json); });
  return code == exit_not_found ? exit_ok : code;
}

int run_show(const given_flags& given, const read_request& request) {
  if (!request.choice.any()) {
    return end_with(exit_usage, "KEY is missing, or a filter such as --state");
  }
  const message_terms terms{given, request.choice, "messages show", {}, false};
  const int code =
      with_letters(terms, [&](chosen_letters& chosen) { return show_letters(chosen, request); });
  if (code == exit_not_found) std::cerr << "onceguard: no such message is among the dead letters\n";
  return code;
}

void add_list(command messages) {
  const auto added = messages.add_command(
      "list", "List dead letters and messages of unknown outcome, beside their records");
  const auto request = std::make_shared<read_request>();
  add_letter_choice(added, request->choice);
  added.add_flag("--json", request->json, "One JSON object per line");
  const auto given = add_store_flags(added);
  added.footer(
      "A line has what the record says now (see --state), since when the message lies there,\n"
      "subscriber, id, size, and why. The messages are taken from the broker and given back, so\n"
      "their order may change.\n\n"
      "Example:\n"
      "  onceguard messages list --state unknown --config onceguard.toml");
  added.runs([=] { return run_list(*given, *request); });
}

void add_show(command messages) {
  const auto added = messages.add_command("show", "Show one message, or those of a filter");
  const auto request = std::make_shared<read_request>();
  add_letter_choice(added, request->choice);
  const auto as_json =
      added.add_flag("--json", request->json,
                     "As one JSON object each; a payload that is no text as payload_base64");
  added.add_flag("--payload", request->payload, "Only the payload of the first, byte for byte")
      .excludes(as_json);
  const auto given = add_store_flags(added);
  added.footer("Example:\n  onceguard messages show order-4711 --config onceguard.toml");
  added.runs([=] { return run_show(*given, *request); });
}

}  // namespace

void add_messages_command(command app) {
  const auto messages =
      app.add_command("messages",
                      "Look at dead letters and messages of unknown outcome, send "
                      "them again, or drop them");
  messages.needs_command();
  messages.footer("Example:\n  onceguard messages list --config onceguard.toml");
  add_list(messages);
  add_show(messages);
  add_messages_retry_command(messages);
  add_messages_drop_command(messages);
}

}  // namespace onceguard::cli
