#include <iostream>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/keys/record_text.hpp"
#include "cli/store_work.hpp"
#include "cli/trial/explained_record.hpp"
#include "cli/trial/explanation.hpp"
#include "http1/message.hpp"
#include "http1/start_line.hpp"

namespace onceguard::cli::trial {
namespace {

using boost::asio::awaitable;

struct explain_request {
  std::string method;
  std::string url;
  std::string client = "127.0.0.1";
  message_flags message;
  bool json = false;
};

std::string method_fault(const std::string& text) {
  if (!http1::is_token(text)) return "a method such as POST was expected";
  if (http1::is_known_method(text)) return {};
  auto large = text;
  for (char& c : large) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return "the gateway answers 501 to the method " + text +
         (http1::is_known_method(large) ? "; did you mean " + large + "?" : "");
}

described_request described(const explain_request& explain_request) {
  described_request request;
  request.method = explain_request.method;
  request.fields = fields_of(explain_request.message);
  request.body = body_of(explain_request.message);
  request.client_address = explain_request.client;
  set_url(request, explain_request.url);
  return request;
}

explained_record find_record(const config::settings& settings, const described_request& request,
                             explanation& reply) {
  explained_record seen;
  seen.note = unusable_store(settings.store.url);
  if (!seen.note.empty()) return seen;
  const int code = with_store(settings, [&](store& records) -> awaitable<int> {
    seen = co_await find_explained(settings, request, records, reply);
    co_return exit_ok;
  });
  if (code != exit_ok) seen.note = "out of reach";
  return seen;
}

int run_explain(const given_flags& given, const explain_request& explain_request) {
  const auto settings = load_settings(given, true);
  if (!settings) return exit_configuration;
  const auto request = described(explain_request);
  auto reply = explain(*settings, request);
  explained_record seen;
  if (reply.kind == explanation::effect::guard) seen = find_record(*settings, request, reply);
  if (explain_request.json) {
    std::cout << json_line(explanation_json(reply, seen.current, seen.same_request, seen.note))
              << "\n";
  } else {
    std::cout << explanation_page(reply, seen.current, seen.same_request, seen.note);
  }
  return exit_ok;
}

}  // namespace

void add_explain_command(const command& added) {
  const auto request = std::make_shared<explain_request>();
  added.add({{"METHOD", &request->method, "The request's method", required("", method_fault)},
             {"URL", &request->url, "Its URL, or its path and query",
              required("", [](const std::string& text) {
                const bool fine = text.starts_with('/') || text.starts_with("http://") ||
                                  text.starts_with("https://");
                return fine ? std::string() : "expected a path or a URL with http://";
              })}});
  add_message_flags(added, request->message);
  added.add({{"--client", &request->client, "The client's address, for scope = \"address\"",
              typed("ADDRESS")},
             {"--json", &request->json, "As one JSON object"}});
  const auto given = add_all_flags(added);
  added.runs([=] { return run_explain(*given, *request); });
}

}  // namespace onceguard::cli::trial
