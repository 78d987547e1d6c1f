#include <iostream>

#include <nlohmann/json.hpp>

#include "base/url.hpp"
#include "cli/command.hpp"
#include "cli/flags/given_flags.hpp"
#include "cli/keys/record_text.hpp"
#include "cli/store/store_work.hpp"
#include "cli/try/explanation.hpp"
#include "http1/head_policy.hpp"
#include "http1/message.hpp"

namespace onceguard::cli {
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

/// A URL is split as a client splits it: its host becomes the Host field.
described_request described(const explain_request& explain_request) {
  described_request request;
  request.method = explain_request.method;
  request.fields = fields_of(explain_request.message);
  request.body = body_of(explain_request.message);
  request.client_address = explain_request.client;
  request.target = explain_request.url;
  if (request.target.starts_with('/')) return request;
  const auto url = base::split_url(explain_request.url);
  request.target = url.path.empty() ? "/" : url.path;
  if (url.query) request.target.append("?").append(*url.query);
  if (url.authority) request.fields.emplace_back("Host", *url.authority);
  return request;
}

struct store_reading {
  std::optional<record_view> current;
  std::string note;
};

awaitable<int> inspection(store& records, record_id id, milliseconds timeout, store_reading& seen) {
  auto found = co_await records.find(id, timeout);
  if (found) {
    seen.current = std::move(*found);
  } else {
    seen.note = found.error().detail;
  }
  co_return exit_ok;
}

store_reading find_one(const config::settings& settings, const record_id& id) {
  store_reading seen;
  seen.note = unusable_store(settings.store.url);
  if (!seen.note.empty()) return seen;
  const int code = with_store(settings, [&](store& records) {
    return inspection(records, id, settings.store.timeout, seen);
  });
  if (code != exit_ok) seen.note = "out of reach";
  return seen;
}

bool is_alive(const store_reading& seen) {
  return seen.current && seen.current->state != observed_state::released;
}

/// As in the gateway, an unreleased record under a former scope of the route takes precedence.
store_reading find_all(const config::settings& settings, explanation& explanation) {
  for (const auto& [id, kind] : explanation.former) {
    auto seen = find_one(settings, id);
    if (!is_alive(seen) && seen.note.empty()) continue;
    if (is_alive(seen))
      explanation.warnings.push_back("its record stands under a former scope: " + kind);
    return seen;
  }
  return find_one(settings, explanation.id);
}

int run_explain(const given_flags& given, const explain_request& explain_request) {
  const auto settings = load_settings(given, true);
  if (!settings) return exit_configuration;
  const auto request = described(explain_request);
  auto reply = explain(*settings, request);
  store_reading seen;
  std::optional<bool> same;
  if (reply.kind == explanation::effect::guard) {
    seen = find_all(*settings, reply);
    if (is_alive(seen)) {
      const auto& stored = seen.current->stored.about->print;
      const auto print = print_like(*settings, request, seen.current->id, stored.method);
      same = print && print->value == stored.value;
    }
  }
  if (explain_request.json) {
    std::cout << json_line(explanation_json(reply, seen.current, same, seen.note)) << "\n";
  } else {
    std::cout << explanation_page(reply, seen.current, same, seen.note);
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

}  // namespace onceguard::cli
