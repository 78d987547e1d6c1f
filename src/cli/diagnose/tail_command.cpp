#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>
#include <poll.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "admin/client.hpp"
#include "base/json_reader.hpp"
#include "base/url.hpp"
#include "cli/admin_flags.hpp"
#include "cli/command.hpp"
#include "cli/store_work.hpp"
#include "http/request_report.hpp"
#include "text/record_json.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::diagnose {
namespace {

using nlohmann::ordered_json;

/// The listener answers after that time at the latest; nothing happened then.
constexpr std::string_view wait_text = "10s";
constexpr milliseconds recent_timeout{20'000};
/// Between two answers, so that one has many lines where many requests come.
constexpr milliseconds between_answers{100};
constexpr milliseconds until_asked_again{1'000};

struct tail_request {
  admin_flags admin;
  std::string route;
  std::string key;
  std::vector<std::string> outcomes;
  std::size_t lines = 10;
  bool json = false;
  bool once = false;
};

std::vector<std::string> outcome_names() {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < http::request_outcomes; ++i) {
    out.emplace_back(http::name_of(static_cast<http::request_outcome>(i)));
  }
  return out;
}

void append(std::string& target, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  target += target.find('?') == target.npos ? '?' : '&';
  target.append(name).append("=").append(base::percent_encoded(value));
}

std::string filter_of(const tail_request& request) {
  std::string out = "/api/recent";
  append(out, "route", request.route);
  append(out, "key", request.key);
  for (const auto& one : request.outcomes) append(out, "outcome", one);
  return out;
}

std::uint64_t count_in(const ordered_json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

/// An answer that has the shape of the document of the admin API; errc::conflict: it has not.
result<ordered_json> read_recent(const admin::admin_target& source, std::string target) {
  const auto answer = admin::ask(
      source.address, {.target = std::move(target), .token = source.token}, recent_timeout);
  if (!answer) return answer.error();
  auto body = ordered_json::parse(answer->body, nullptr, false);
  if (answer->status != 200) {
    return admin::refusal_error(
        source.address, answer->status,
        "answered " + std::to_string(answer->status) + ": " + base::text_in(body, "detail"));
  }
  for (const auto* name : {"requests", "events"}) {
    if (!body.is_object() || !body.contains(name) || !body[name].is_array()) {
      return error(errc::conflict, "the answer has no list \"" + std::string(name) + "\"");
    }
  }
  return body;
}

/// "2026-01-31T12:00:00.000Z replayed 201 POST /charges order-17 0.4 ms"
std::string request_line(const ordered_json& one) {
  std::ostringstream out;
  out << plain_text(base::text_in(one, "at")) << "  " << std::left << std::setw(12)
      << plain_text(base::text_in(one, "outcome")) << ' ' << std::right << std::setw(3)
      << count_in(one, "status") << "  " << plain_text(base::text_in(one, "method")) << ' '
      << plain_text(base::text_in(one, "path"));
  if (const auto key = base::text_in(one, "key"); !key.empty()) out << "  key " << plain_text(key);
  for (const auto* name : {"settled", "why", "problem"}) {
    const auto text = base::text_in(one, name);
    // What usually becomes of a run goes without saying.
    if (!text.empty() && text != "complete") out << "  " << plain_text(text);
  }
  out << "  " << std::fixed << std::setprecision(1)
      << static_cast<double>(count_in(one, "total_us")) / 1e3 << " ms";
  return out.str();
}

std::string event_line(const ordered_json& one) {
  std::ostringstream out;
  out << plain_text(base::text_in(one, "at")) << "  " << plain_text(base::text_in(one, "level"))
      << ' ' << plain_text(base::text_in(one, "event"));
  const auto fields = one.find("fields");
  if (fields == one.end() || !fields->is_object()) return out.str();
  for (const auto& [name, value] : fields->items()) {
    out << ' ' << plain_text(name) << '='
        << (value.is_string() ? plain_text(value.get<std::string>()) : value.dump());
  }
  return out.str();
}

/// Requests and events in their order.
void print_lines(const ordered_json& answer, bool as_json) {
  std::vector<const ordered_json*> all;
  for (const auto* name : {"requests", "events"}) {
    for (const auto& one : answer[name]) all.push_back(&one);
  }
  std::ranges::stable_sort(all, {},
                           [](const ordered_json* one) { return count_in(*one, "number"); });
  for (const auto* one : all) {
    if (as_json) {
      std::cout << json_line(*one) << "\n";
    } else {
      std::cout << (one->contains("event") ? event_line(*one) : request_line(*one)) << "\n";
    }
  }
  std::cout << std::flush;
}

/// For people on standard error: what stands on standard output are lines alone.
void tell(const std::string& text) { std::cerr << "onceguard: " << text << "\n"; }

/// Whether somebody still reads standard output: a pipe without a reader is noticed even while
/// there is nothing to write.
bool is_read() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return std::cout.good() && (::poll(&output, 1, 0) <= 0 || (output.revents & POLLERR) == 0);
}

/// Follows one process after the other at the same address.
class tail {
 public:
  tail(const tail_request& request, admin::admin_target source)
      : request_(request), source_(std::move(source)) {}

  int run() {
    auto first = read_recent(source_, target("limit", std::max<std::size_t>(request_.lines, 1)));
    if (!first) return complain(first.error());
    if (request_.lines == 0) (*first)["requests"] = (*first)["events"] = ordered_json::array();
    keep_last(*first);
    take(*first);
    while (!request_.once && is_read()) {
      wait(between_answers);
      follow();
    }
    // As for any output without a reader.
    return request_.once ? exit_ok : exit_failed;
  }

 private:
  [[nodiscard]] std::string target(std::string_view name, std::uint64_t number) const {
    auto out = filter_of(request_);
    append(out, name, std::to_string(number));
    return out;
  }

  /// Of both together as many lines as were asked for.
  void keep_last(ordered_json& answer) const {
    std::vector<std::uint64_t> numbers;
    for (const auto* name : {"requests", "events"}) {
      for (const auto& one : answer[name]) numbers.push_back(count_in(one, "number"));
    }
    if (numbers.size() <= request_.lines) return;
    std::ranges::sort(numbers);
    const auto first = numbers[numbers.size() - request_.lines];
    for (const auto* name : {"requests", "events"}) {
      auto kept = ordered_json::array();
      for (const auto& one : answer[name]) {
        if (count_in(one, "number") >= first) kept.push_back(one);
      }
      answer[name] = std::move(kept);
    }
  }

  void wait(milliseconds time) {
    timer_.expires_after(time);
    timer_.wait();
  }

  void follow() {
    auto wanted = target("after", after_);
    append(wanted, "begun_at", begun_at_);
    append(wanted, "wait", wait_text);
    auto next = read_recent(source_, std::move(wanted));
    if (!next) {
      if (!away_) tell("out of reach: " + terminal_text(next.error().detail));
      away_ = true;
      wait(until_asked_again);
      return;
    }
    if (away_) tell("there again");
    away_ = false;
    if (base::text_in(*next, "begun_at") != begun_at_) tell("the gateway was started anew");
    take(*next);
  }

  void take(const ordered_json& answer) {
    if (const auto lost = count_in(answer, "lost"); lost != 0) {
      tell(std::to_string(lost) + " lines were not read in time, and are lost");
    }
    print_lines(answer, request_.json);
    begun_at_ = base::text_in(answer, "begun_at");
    after_ = count_in(answer, "after");
  }

  const tail_request& request_;
  const admin::admin_target source_;
  boost::asio::io_context io_;
  boost::asio::steady_timer timer_{io_};
  std::string begun_at_;
  std::uint64_t after_ = 0;
  bool away_ = false;
};

int run_tail(const tail_request& request) {
  auto source = read_target(request.admin);
  if (!source) return exit_usage;
  return tail(request, *std::move(source)).run();
}

}  // namespace

void add_tail_command(const command& added) {
  const auto request = std::make_shared<tail_request>();
  added.add(
      {{"--admin", &request->admin.address, "Where its admin listener is, as in [gateway] admin",
        required("ADDRESS")},
       {"--token-file", &request->admin.token_file, "A file with the token for --admin",
        typed("FILE")},
       {"--route", &request->route, "Only of this route, as a record shows it", single("ROUTE")},
       {"--outcome", &request->outcomes, "Only what got this; may be given several times",
        any_of(outcome_names(), "OUTCOME")},
       {"--key", &request->key, "Only with this key, in any scope", single("KEY")},
       {"--lines", &request->lines, "How many lines of before come first", between(0, 2'000)},
       {"--json", &request->json, "Write each line as JSON"},
       {"--once", &request->once, "Write the lines of before, and end"}});
  added.runs([=] { return run_tail(*request); });
}

}  // namespace onceguard::cli::diagnose
