#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include <onceguard/client_beast.hpp>
#include <onceguard/client_key_file.hpp>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "cli/command.hpp"
#include "cli/given_flags.hpp"
#include "config/table/parsers.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::send {
namespace {

struct send_request {
  std::string method;
  std::string url;
  message_flags message;
  std::string json;
  std::string data;
  std::string key;
  std::string key_file;
  std::size_t attempts = client::retry_params().attempts;
  std::string budget = "60s";
  std::string timeout = "30s";
};

std::string bytes_of(std::istream& stream, const std::string& name) {
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (stream.bad()) throw std::runtime_error(name + ": can't be read");
  return bytes;
}

/// The text itself, or what @FILE or - names.
std::string content_of(const std::string& given) {
  if (given == "-") return bytes_of(std::cin, "standard input");
  if (!given.starts_with('@')) return given;
  const auto name = given.substr(1);
  std::ifstream file(name, std::ios::binary);
  if (!file) throw std::runtime_error(name + ": can't be opened");
  return bytes_of(file, name);
}

/// What an unset variable of a shell leaves would pass for an option that was not given.
std::string empty_fault(const std::string& text) {
  return text.empty() ? "expected a text, got an empty one" : std::string();
}

client::request request_of(const send_request& given) {
  client::request out;
  out.method = given.method;
  out.url = given.url;
  out.headers = fields_of(given.message);
  out.body = content_of(given.json.empty() ? given.data : given.json);
  const auto is_type = [](const auto& field) { return base::iequals(field.first, "content-type"); };
  if (!given.json.empty() && std::ranges::none_of(out.headers, is_type)) {
    out.headers.emplace_back("Content-Type", "application/json");
  }
  return out;
}

/// Safe methods need no key, and a key of the user's goes with any.
bool needs_key(const std::string& method) {
  return method != "GET" && method != "HEAD" && method != "OPTIONS" && method != "TRACE";
}

std::string seconds_text(milliseconds value) {
  return fmt::format("{:.1f} s", static_cast<double>(value.count()) / 1'000);
}

void report_attempt(std::size_t number, const client::attempt& made,
                    const client::retry_decision& next) {
  auto text = fmt::format("onceguard: attempt {}: ", number);
  text += made.answer ? std::to_string(made.answer->status) : terminal_text(made.fault);
  if (next.end == client::ending::none) {
    text += fmt::format("; {}: again in {}", next.why, seconds_text(next.wait));
  }
  std::cerr << text << "\n";
}

int report_end(const client::delivery& got, const std::string& key) {
  switch (got.end) {
    case client::ending::done:
      std::cerr << "onceguard: it was done before, and its answer was not kept: read the state of "
                   "what it changed\n";
      return exit_ok;
    case client::ending::refused:
      std::cerr << "onceguard: refused (" << got.why << "): the same request fails again\n";
      return exit_refused;
    case client::ending::unknown:
      std::cerr << "onceguard: the outcome is unknown (" << got.why
                << "): find out what became of it before you send it again\n";
      return exit_unknown;
    default:
      std::cerr << "onceguard: gave up after " << got.attempts << " (" << got.why << ")";
      if (!key.empty()) std::cerr << "; safe later with the same key: " << terminal_text(key);
      std::cerr << "\n";
      return exit_gave_up;
  }
}

int exit_code_of(const error& why) {
  return why.code == errc::store_unreachable ? exit_failed : exit_configuration;
}

/// In the key file, of what was done and has no answer any more: 204 No Content.
constexpr std::uint16_t no_answer_status = 204;

/// Records the success. Whoever removed the file, or replaced it, wants another operation.
int mark_done(client::key_file& file, std::uint16_t status) {
  const auto marked = file.mark_done(status);
  if (marked) return exit_ok;
  const auto& why = marked.error();
  if (why.code != errc::conflict && why.code != errc::not_found) {
    return end_with(exit_code_of(why), why.detail);
  }
  return end_with(exit_ok, why.detail + "; it was left as it is");
}

int deliver(const client::request& request, const client::retry_params& params,
            client::key_file* file) {
  if (!request.key.empty()) std::cerr << "onceguard: key " << terminal_text(request.key) << "\n";
  client::beast_transport transport;
  const auto got = client::send(transport, request, params, report_attempt);
  if (!got) return end_with(exit_usage, got.error().detail);
  const bool done = got->end == client::ending::done;
  // What says that the answer is gone is not the answer.
  if (got->last.answer && !done) std::cout << got->last.answer->body << std::flush;
  if (got->end != client::ending::success) {
    const auto code = report_end(*got, request.key);
    return done && file != nullptr ? mark_done(*file, no_answer_status) : code;
  }
  const auto status = got->last.answer->status;
  if (!std::cout) {
    return end_with(exit_failed, fmt::format("it succeeded with {}, but the answer is not written; "
                                             "the same command with the same key gets it again",
                                             status));
  }
  return file == nullptr ? exit_ok : mark_done(*file, status);
}

int run_send(const send_request& given) {
  auto request = request_of(given);
  // nlohmann/json takes a NUL for the end of the text.
  const bool whole = request.body.find('\0') == request.body.npos;
  if (!given.json.empty() && !(whole && nlohmann::json::accept(request.body))) {
    return end_with(exit_usage, "--json: this is no JSON");
  }
  client::retry_params params;
  params.attempts = given.attempts;
  params.budget = config::parse_duration(given.budget).value();
  params.attempt_timeout = config::parse_duration(given.timeout).value();
  request.key = given.key;
  if (const auto checked = client::check(request); !checked) {
    return end_with(exit_usage, checked.error().detail);
  }
  std::optional<client::key_file> file;
  if (!given.key_file.empty()) {
    auto opened = client::key_file::open(given.key_file, request);
    if (!opened) return end_with(exit_code_of(opened.error()), opened.error().detail);
    file = std::move(*opened);
    request.key = file->key();
    request.maybe_sent_before = file->found();
    if (file->done_status() != 0) {
      std::cerr << "onceguard: " << terminal_text(given.key_file) << ": done before with "
                << file->done_status() << "; nothing was sent\n";
      return exit_ok;
    }
  } else if (request.key.empty() && needs_key(request.method)) {
    request.key = client::make_key();
  }
  return deliver(request, params, file ? &*file : nullptr);
}

void add_body_flags(const command& added, send_request& request) {
  added.add({{"--json", &request.json, "A JSON body; @FILE or - reads it",
              typed("TEXT|@FILE|-", empty_fault)},
             {"--data", &request.data, "Any other body; @FILE or - reads it",
              not_with("--json", typed("TEXT|@FILE|-"))}});
  add_header_flag(added, request.message);
}

void add_key_flags(const command& added, send_request& request) {
  added.add({{"--key", &request.key, "The idempotency key; by default a new UUID",
              typed("KEY", empty_fault)},
             {"--key-file", &request.key_file,
              "The key stands in this file, which is made before anything is sent",
              not_with("--key", typed("FILE", empty_fault))}});
}

}  // namespace

void add_send_command(const command& added) {
  const auto request = std::make_shared<send_request>();
  added.add({{"METHOD", &request->method, "The request's method", required("")},
             {"URL", &request->url, "http://… or https://…", required("")}});
  add_body_flags(added, *request);
  add_key_flags(added, *request);
  added.add(
      {{"--attempts", &request->attempts, "At most so many attempts [8]", between(1, 1'000)},
       {"--budget", &request->budget, "For all attempts and waits [60s]",
        typed("TIME", period_fault)},
       {"--timeout", &request->timeout, "For one attempt [30s]", typed("TIME", period_fault)}});
  added.runs([=] { return run_send(*request); });
}

}  // namespace onceguard::cli::send
