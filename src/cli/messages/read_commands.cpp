#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/messages/message_work.hpp"
#include "text/record_json.hpp"

namespace onceguard::cli::messages {
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

}  // namespace

void add_messages_list_command(const command& added) {
  const auto request = std::make_shared<read_request>();
  add_letter_choice(added, request->choice);
  added.add({{"--json", &request->json, "One JSON object per line"}});
  const auto given = add_store_flags(added);
  added.runs([=] { return run_list(*given, *request); });
}

void add_messages_show_command(const command& added) {
  const auto request = std::make_shared<read_request>();
  add_letter_choice(added, request->choice);
  added.add({{"--json", &request->json,
              "As one JSON object each; a payload that is no text as payload_base64"},
             {"--payload", &request->payload, "Only the payload of the first, byte for byte",
              not_with("--json")}});
  const auto given = add_store_flags(added);
  added.runs([=] { return run_show(*given, *request); });
}

}  // namespace onceguard::cli::messages
