#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <thread>

#include <onceguard/guard.hpp>

#include "base/log.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "cli/log_file.hpp"
#include "cli/log_lines.hpp"
#include "config/stores.hpp"
#include "config/texts.hpp"
#include "mcp/stdio_proxy.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {
namespace {

struct mcp_request {
  std::vector<std::string> words;
  std::string scope;
  std::string argument = "idempotency_key";
  std::string required = "none";
  std::string window;
  std::string wait;
  std::string retention = "24h";
  std::string unknown = "hold";
  std::string tool_error = "complete";
};

int note(int exit_code, const std::string& text) {
  std::cerr << "onceguard: " << terminal_text(text) << "\n";
  return exit_code;
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
  out.scope = given.scope;
  if (out.scope.empty()) {
    for (const auto& word : given.words) out.scope += std::to_string(word.size()) + ':' + word;
  }
  out.argument = given.argument;
  out.required = rules.at(given.required);
  if (!given.window.empty()) out.window = config::parse_duration(given.window).value();
  out.policy.lease = settings.defaults.lease;
  out.policy.backoff = settings.defaults.backoff;
  out.policy.backoff_max = settings.defaults.backoff_max;
  out.policy.retention = config::parse_duration(given.retention).value();
  if (!given.wait.empty()) {
    out.policy.on_busy = on_busy_rule::wait;
    out.policy.wait = config::parse_duration(given.wait).value();
  }
  if (given.unknown == "rerun") out.policy.unknown = unknown_policy::rerun;
  out.tool_error = kinds.at(given.tool_error);
  return out;
}

/// Ends the proxy at SIGTERM, SIGINT and SIGHUP. Made before other threads, which inherit the mask.
class end_signals {
 public:
  end_signals() {
    ::sigemptyset(&taken_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGURG}) ::sigaddset(&taken_, signal);
    ::pthread_sigmask(SIG_BLOCK, &taken_, nullptr);
    std::signal(SIGCHLD, SIG_DFL);
  }
  end_signals(const end_signals&) = delete;
  end_signals& operator=(const end_signals&) = delete;
  ~end_signals() {
    if (!thread_.joinable()) return;
    ::pthread_kill(thread_.native_handle(), SIGURG);
    thread_.join();
  }

  void stop(mcp::stdio_proxy& proxy) {
    thread_ = std::thread([this, &proxy] {
      int signal = 0;
      while (::sigwait(&taken_, &signal) == 0 && signal != SIGURG) proxy.stop();
    });
  }

 private:
  sigset_t taken_{};
  std::thread thread_;
};

int serve(const mcp_request& given, const config::settings& settings, end_signals& signals) {
  guard_params params;
  params.store_timeout = settings.store.timeout;
  params.engine.state_dir = settings.gateway.state_dir;
  auto store = config::known_stores().open(settings.store);
  if (!store) return note(exit_store, store.error().detail);
  auto records = guard::open(std::move(*store), std::move(params));
  if (!records) return note(exit_store, records.error().detail);
  mcp::stdio_proxy proxy(*records, params_of(given, settings), given.words,
                         [](const std::string& text) { note(exit_ok, text); });
  signals.stop(proxy);
  const auto code = proxy.run();
  if (!code) return note(exit_failed, code.error().detail);
  return *code;
}

int run_mcp(const given_flags& flags, const mcp_request& given) {
  const auto settings = load_settings(flags, false);
  if (!settings) return exit_configuration;
  end_signals signals;
  const auto descriptor = log_descriptor(settings->log);
  if (!descriptor) return exit_failed;
  log_lines lines(settings->log, *descriptor);
  base::set_log_sink(&lines);
  const int code = serve(given, *settings, signals);
  lines.flush();
  base::set_log_sink(nullptr);
  return code;
}

void add_key_options(const command& added, mcp_request& given) {
  added.add_option("--scope", given.scope, "Whom the keys belong to [the server]")
      .type("TEXT")
      .once();
  added
      .add_option(
          "--argument", given.argument,
          "The argument that agents put the key into, shown in the list of tools; empty: none "
          "[idempotency_key]")
      .type("NAME")
      .once();
  added
      .add_option(
          "--require-key", given.required,
          "Which calls must have a key [none]; destructive: those of tools that may destroy "
          "something, all: of all that are not read-only")
      .once()
      .one_of({"none", "destructive", "all"});
  added
      .add_option("--window", given.window,
                  "Calls without a key that are equal within this time are one [not at all]")
      .type("TIME")
      .once()
      .check(period_fault);
}

void add_result_options(const command& added, mcp_request& given) {
  added.add_option("--retention", given.retention, "How long a result is kept [24h]")
      .type("TIME")
      .once()
      .check(period_fault);
  added
      .add_option("--wait", given.wait,
                  "Wait as long for the same call that is running [not at all]")
      .type("TIME")
      .once()
      .check(period_fault);
  added
      .add_option("--on-unknown", given.unknown,
                  "If nobody knows whether an earlier call took effect [hold]; tools with an "
                  "idempotentHint are called again anyway")
      .once()
      .one_of({"hold", "rerun"});
  added
      .add_option("--tool-error", given.tool_error,
                  "What the error of a tool means [complete: a repeat gets the same error]")
      .once()
      .one_of({"complete", "fail", "release", "unknown"});
}

}  // namespace

void add_mcp_command(command app) {
  const auto added =
      app.add_command("mcp", "Guard the tool calls of a server of the Model Context Protocol");
  const auto given = std::make_shared<mcp_request>();
  add_key_options(added, *given);
  add_result_options(added, *given);
  const auto flags = add_store_flags(added, {"lease", "backoff", "backoff-max", "state-dir",
                                             "log-file", "log-level", "log-format"});
  added.add_option("COMMAND", given->words, "The server and its arguments, behind --")
      .required()
      .type("");
  added.footer(
      "A call of a tool with an idempotency key runs once; a repeat with the same key gets the "
      "first\n"
      "result. All else passes through untouched.\n\n"
      "Example:\n"
      "  onceguard mcp --store sqlite:/var/lib/onceguard/tools.db -- npx my-server");
  added.runs([=] { return run_mcp(*flags, *given); });
}

}  // namespace onceguard::cli
