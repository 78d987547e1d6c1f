#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/keys/find_records.hpp"
#include "cli/keys/record_source.hpp"
#include "cli/keys/record_text.hpp"
#include "cli/messages/payload_location.hpp"
#include "cli/store_work.hpp"

namespace onceguard::cli::keys {
namespace {

using boost::asio::awaitable;

struct show_request {
  key_choice choice;
  bool json = false;
  bool body = false;
};

void print_record(const record_view& seen, const config::settings& settings, bool as_json) {
  const auto payload = messages::payload_location(seen, settings);
  if (!as_json) {
    std::cout << record_page(seen);
    if (!payload.empty()) std::cout << "payload       " << payload << "\n";
    return;
  }
  auto object = record_json(seen, true);
  if (!payload.empty()) object["payload"] = payload;
  std::cout << json_line(object) << "\n";
}

awaitable<int> show_record(record_access& records, const show_request& request,
                           const config::settings& settings) {
  const auto timeout = settings.store.timeout;
  const auto found = co_await find_one(records, request.choice, true, timeout);
  if (!found.any()) co_return found.exit_code;
  if (found.unreadable) {
    const auto& seen = *found.unreadable;
    if (request.body) co_return refuse_unreadable(seen);
    std::cout << (request.json ? json_line(record_json(seen)) + "\n" : record_page(seen));
    co_return exit_ok;
  }
  const auto& seen = *found.record;
  if (!request.body) {
    print_record(seen, settings, request.json);
    co_return exit_ok;
  }
  if (!seen.stored.answer) {
    std::cerr << "onceguard: the record holds no answer\n";
    co_return exit_not_found;
  }
  if (seen.stored.answer->body.empty() && seen.body_size != 0) {
    std::cerr << "onceguard: the body is too long for the gateway's answer; read it with --store\n";
    co_return exit_failed;
  }
  std::cout.write(seen.stored.answer->body.data(),
                  static_cast<std::streamsize>(seen.stored.answer->body.size()));
  co_return exit_ok;
}

int run_keys_show(const record_source& source, const show_request& request) {
  return with_records(source, [&](record_access& records, const config::settings& settings) {
    return show_record(records, request, settings);
  });
}

}  // namespace

void add_keys_show_command(const command& added) {
  const auto request = std::make_shared<show_request>();
  add_key_choice(added, request->choice, key_needed::yes);
  added.add(
      {{"--json", &request->json, "As one JSON object; a body that is no text as body_base64"},
       {"--body", &request->body, "Only the body of the stored answer, byte for byte",
        not_with("--json")}});
  const auto source = add_record_source(added);
  added.runs([=] { return run_keys_show(*source, *request); });
}

}  // namespace onceguard::cli::keys
