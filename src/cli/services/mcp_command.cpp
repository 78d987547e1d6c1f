#include <map>
#include <memory>

#include <onceguard/guard.hpp>

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/log/log_file.hpp"
#include "cli/log/log_lines.hpp"
#include "cli/services/end_signals.hpp"
#include "config/stores.hpp"
#include "config/table/parsers.hpp"
#include "mcp/http_proxy.hpp"
#include "mcp/stdio_proxy.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli::services {
namespace {

struct mcp_request {
  std::vector<std::string> words;
  std::vector<std::string> scope;
  std::string argument = "as the preset has it";
  std::string preset = "default";
  std::vector<std::string> key_from;
  std::vector<std::string> omit;
  std::string required = "none";
  std::vector<std::string> windows;
  bool pass_cancellations = false;
  std::string wait;
  std::string retention = "24h";
  std::string unknown = "hold";
  std::string tool_error = "complete";
  std::string listen = "127.0.0.1:8090";
  std::string upstream;
};

mcp::key_locations locations_of(const mcp_request& given) {
  auto out = mcp::preset(given.preset);
  if (!given.key_from.empty()) out.others.clear();
  for (const auto& pointer : given.key_from) out.others.push_back({mcp::path_of(pointer)});
  if (given.argument != mcp_request().argument) out.argument = given.argument;
  for (const auto& pointer : given.omit) out.omitted.push_back({mcp::path_of(pointer)});
  return out;
}

bool is_scope_rule(const std::string& text) {
  return text == "credential" || text == "address" || text == "none" ||
         text.starts_with("header:") || text.starts_with("cookie:") || text.starts_with("jwt:") ||
         text.starts_with("auth-param:");
}

/// Sets whose the keys are. Returns what is wrong; empty: nothing.
std::string take_scope(const mcp_request& given, mcp::mcp_params& out) {
  std::vector<scope_rule> rules;
  bool named = false;
  for (const auto& text : given.scope) {
    if (!is_scope_rule(text)) {
      if (std::exchange(named, true)) return "--scope: there are two names";
      out.scope = text;
      continue;
    }
    if (given.upstream.empty()) {
      return "--scope " + text + ": the client on standard streams is one caller; expected a name";
    }
    auto rule = config::parse_scope(text);
    if (!rule) return "--scope: " + rule.error().detail;
    if (rule->source == scope_source::jwt && out.policy.tokens == nullptr) {
      return "--scope " + text + " needs --jwt-keys-file, or keys_file of [jwt]";
    }
    rules.push_back(std::move(*rule));
  }
  if (rules.size() == 1) {
    out.policy.scope = std::move(rules.front());
  } else if (!rules.empty()) {
    out.policy.scope = {scope_source::several, {}, std::move(rules)};
  }
  return {};
}

void take_windows(const mcp_request& given, mcp::mcp_params& out) {
  for (const auto& text : given.windows) {
    const auto equals = text.rfind('=');
    if (equals == text.npos) {
      out.window = config::parse_duration(text).value();
    } else {
      out.windows[text.substr(0, equals)] = config::parse_duration(text.substr(equals + 1)).value();
    }
  }
}

mcp::mcp_params params_of(const mcp_request& given, const config::settings& settings) {
  static const std::map<std::string, mcp::key_rule> rules{
      {"none", mcp::key_rule::optional},
      {"destructive", mcp::key_rule::destructive},
      {"all", mcp::key_rule::all}};
  static const std::map<std::string, settle_kind> kinds{{"fail", settle_kind::fail},
                                                        {"release", settle_kind::release},
                                                        {"complete", settle_kind::complete},
                                                        {"unknown", settle_kind::abandon}};
  mcp::mcp_params out;
  out.locations = locations_of(given);
  out.required = rules.at(given.required);
  take_windows(given, out);
  out.pass_cancellations = given.pass_cancellations;
  const auto& defaults = settings.defaults;
  out.policy.tokens = defaults.tokens;
  out.policy.credential_schemes = defaults.credential_schemes;
  out.policy.anonymous = defaults.anonymous;
  out.policy.lease = defaults.lease;
  out.policy.backoff = defaults.backoff;
  out.policy.backoff_max = defaults.backoff_max;
  out.policy.retention = config::parse_duration(given.retention).value();
  if (!given.wait.empty()) {
    out.policy.on_busy = on_busy_rule::wait;
    out.policy.wait = config::parse_duration(given.wait).value();
  }
  if (given.unknown == "rerun") out.policy.unknown = unknown_policy::rerun;
  out.tool_error = kinds.at(given.tool_error);
  return out;
}

void show_complaint(const std::string& text) { end_with(exit_ok, text); }

int serve_streams(guard& records, const mcp_request& given, mcp::mcp_params calls,
                  end_signals& signals) {
  mcp::stdio_proxy proxy(records, std::move(calls), given.words, show_complaint);
  signals.begin([&proxy] { proxy.stop(); });
  const auto code = proxy.run();
  signals.end();
  if (!code) return end_with(exit_failed, code.error().detail);
  return *code;
}

int serve_http(guard& records, const mcp_request& given, mcp::mcp_params calls,
               end_signals& signals) {
  mcp::http_proxy_params params;
  params.calls = std::move(calls);
  params.upstream = given.upstream;
  const auto colon = given.listen.rfind(':');
  params.host = given.listen.substr(0, colon);
  if (params.host.starts_with('[')) params.host = params.host.substr(1, params.host.size() - 2);
  params.port = static_cast<std::uint16_t>(std::stoi(given.listen.substr(colon + 1)));
  mcp::http_proxy proxy(records, params, show_complaint);
  const auto port = proxy.listen();
  if (!port) return end_with(exit_configuration, port.error().detail);
  end_with(exit_ok, "listening on " + given.listen.substr(0, colon) + ':' + std::to_string(*port));
  signals.begin([&proxy] { proxy.stop(); });
  proxy.run();
  signals.end();
  return exit_ok;
}

int serve(const mcp_request& given, const config::settings& settings, end_signals& signals) {
  auto calls = params_of(given, settings);
  if (const auto fault = take_scope(given, calls); !fault.empty()) {
    return end_with(exit_configuration, fault);
  }
  guard_params params;
  params.store_timeout = settings.store.timeout;
  params.engine.state_dir = settings.gateway.state_dir;
  auto store = config::known_stores().open(settings.store);
  if (!store) return end_with(exit_store, store.error().detail);
  auto records = guard::open(std::move(*store), std::move(params));
  if (!records) return end_with(exit_store, records.error().detail);
  return given.upstream.empty() ? serve_streams(*records, given, std::move(calls), signals)
                                : serve_http(*records, given, std::move(calls), signals);
}

int run_mcp(const given_flags& flags, const mcp_request& given) {
  if (given.words.empty() == given.upstream.empty()) {
    return end_with(exit_usage,
                    "a server is missing, or there are two: expected -- COMMAND or --upstream "
                    "URL");
  }
  const auto settings = load_settings(flags, false);
  if (!settings) return exit_configuration;
  end_signals signals;
  const auto descriptor = log::log_descriptor(settings->log);
  if (!descriptor) return exit_failed;
  log::log_lines lines(settings->log, *descriptor);
  base::set_log_sink(&lines);
  const int code = serve(given, *settings, signals);
  lines.flush();
  base::set_log_sink(nullptr);
  return code;
}

std::string address_fault(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto port = colon == text.npos ? std::string() : text.substr(colon + 1);
  const bool fine = colon != 0 && !port.empty() && port.size() <= 5 &&
                    port.find_first_not_of("0123456789") == port.npos && std::stoi(port) <= 65'535;
  return fine ? std::string() : "expected IP:PORT";
}

std::string pointer_fault(const std::string& text) {
  return mcp::path_of(text).empty() ? "expected a JSON Pointer, such as /arguments/order/id"
                                    : std::string();
}

/// TIME or TOOL=TIME.
std::string window_fault(const std::string& text) {
  const auto equals = text.rfind('=');
  if (equals == 0) return "expected TIME or TOOL=TIME";
  return period_fault(equals == text.npos ? text : text.substr(equals + 1));
}

void add_key_options(const command& added, mcp_request& given) {
  added.add({{"--scope", &given.scope,
              "Whom the keys belong to: a name, which servers that share a store need [mcp]; "
              "with --upstream also how callers are told apart, as in the gateway: jwt:sub, "
              "header:NAME … [credential]",
              typed("TEXT")},
             {"--preset", &given.preset,
              "Where calls have their keys: by the published contract [default: wherever any but "
              "a2a has it]",
              one_of(mcp::preset_names())},
             {"--key-from", &given.key_from,
              "In place of the preset's places: a JSON Pointer into the call's params",
              typed("POINTER", pointer_fault)},
             {"--omit", &given.omit,
              "A JSON Pointer into the arguments, to what may differ between two tries of a "
              "call",
              typed("POINTER", pointer_fault)},
             {"--argument", &given.argument,
              "The argument that agents put the key into, shown in the list of tools; empty: "
              "none [idempotency_key; none with ucp, acp, x402 and a2a]",
              single("NAME")},
             {"--require-key", &given.required,
              "Which calls must have a key [none]; destructive: those of tools that may destroy "
              "something, all: of all that are not read-only",
              one_of({"none", "destructive", "all"})},
             {"--window", &given.windows,
              "Calls without a key that are equal within this time are one: TIME, or "
              "TOOL=TIME for one tool [not at all]",
              typed("TIME", window_fault)}});
}

void add_result_options(const command& added, mcp_request& given) {
  added.add({{"--retention", &given.retention, "How long a result is kept [24h]", a_period()},
             {"--wait", &given.wait, "Wait as long for the same call that is running [not at all]",
              a_period()},
             {"--on-unknown", &given.unknown,
              "If nobody knows whether an earlier call took effect [hold]; tools with an "
              "idempotentHint are called again anyway",
              one_of({"hold", "rerun"})},
             {"--tool-error", &given.tool_error,
              "What the error of a tool means [complete: a repeat gets the same error]",
              one_of({"complete", "fail", "release", "unknown"})},
             {"--pass-cancellations", &given.pass_cancellations,
              "Tell the server when the client gives up a guarded call; its result is then "
              "often lost [the call goes on, and a repeat gets its result]"}});
}

}  // namespace

void add_mcp_command(const command& added) {
  const auto given = std::make_shared<mcp_request>();
  added.add_words(given->words, "The server and its arguments, behind --");
  add_key_options(added, *given);
  add_result_options(added, *given);
  const auto flags =
      add_store_flags(added, {"lease", "backoff", "backoff-max", "anonymous", "credential-schemes",
                              "jwt-keys-file", "jwt-issuer", "jwt-audience", "jwt-leeway",
                              "state-dir", "log-file", "log-level", "log-format"});
  added.add(
      {{"--upstream", &given->upstream,
        "A server on streamable HTTP, in place of a command: http://… or https://…", single("URL")},
       {"--listen", &given->listen, "With --upstream: where agents reach it [127.0.0.1:8090]",
        single("ADDRESS", address_fault)}});
  added.runs([=] { return run_mcp(*flags, *given); });
}

}  // namespace onceguard::cli::services
