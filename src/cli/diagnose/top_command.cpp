#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "admin/client.hpp"
#include "base/clock.hpp"
#include "base/json_reader.hpp"
#include "cli/admin_flags.hpp"
#include "cli/command.hpp"
#include "cli/store_work.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::diagnose {
namespace {

using nlohmann::json;

constexpr milliseconds overview_timeout{5'000};
constexpr std::chrono::seconds pause{2};
/// Home, and erase to the end: what stood there before is overwritten without a flicker (ECMA-48).
constexpr std::string_view anew = "\x1b[H\x1b[J";

/// An overview that has the shape of the document of the admin API; errc::conflict: it has not.
struct overview {
  json whole;
  base::boot_clock::time_point read_at;
};

result<overview> read_overview(const admin::admin_target& target) {
  const auto answer = admin::ask(target.address, {.target = "/api/overview", .token = target.token},
                                 overview_timeout);
  if (!answer) return answer.error();
  auto body = json::parse(answer->body, nullptr, false);
  if (answer->status != 200) {
    return admin::refusal_error(
        target.address, answer->status,
        "answered " + std::to_string(answer->status) + ": " + base::text_in(body, "detail"));
  }
  for (const auto* name : {"store", "process", "records", "totals"}) {
    const auto* const part = base::find_member(body, name);
    if (part == nullptr || !part->is_object()) {
      return error(errc::conflict, "the overview has no object \"" + std::string(name) + "\"");
    }
  }
  return overview{std::move(body), base::boot_now()};
}

double number_in(const json& object, const char* name) {
  const auto* const found = base::find_member(object, name);
  return found != nullptr && found->is_number() ? found->get<double>() : 0;
}

std::string duration_text(double us) {
  std::ostringstream out;
  if (us < 1'000) {
    out << std::lround(us) << " us";
  } else if (us < 1e6) {
    out << std::fixed << std::setprecision(1) << us / 1e3 << " ms";
  } else {
    out << std::fixed << std::setprecision(1) << us / 1e6 << " s";
  }
  return out.str();
}

/// "request 0.5 ms, 12.0 ms", of the latest sample that has the step.
void add_times(std::ostream& out, const json& history) {
  for (const auto* step : {"request", "claim", "upstream", "settle"}) {
    for (auto sample = history.rbegin(); sample != history.rend(); ++sample) {
      const auto* const times = base::find_member(*sample, "times_us");
      const auto* const both = times == nullptr ? nullptr : base::find_member(*times, step);
      if (both == nullptr || both->size() != 2) continue;
      out << "  " << std::left << std::setw(16) << step << std::right << std::setw(12)
          << duration_text((*both)[0].get<double>()) << std::setw(12)
          << duration_text((*both)[1].get<double>()) << "\n";
      break;
    }
  }
}

void add_condition(std::ostream& out, const json& whole) {
  out << "onceguard " << terminal_text(base::text_in(whole, "version")) << ", "
      << terminal_text(base::text_in(whole["store"], "name")) << ", "
      << terminal_text(base::text_in(whole, "at")) << "\n";
  const auto* const reasons = base::find_member(whole, "unready");
  if (reasons == nullptr || reasons->empty()) {
    out << "ready\n";
    return;
  }
  out << "not ready\n";
  for (const auto& one : *reasons) {
    out << "  " << terminal_text(base::text_in(one, "reason"));
    if (const auto why = base::text_in(one, "why"); !why.empty()) {
      out << ": " << terminal_text(why);
    }
    out << "\n";
  }
}

/// The totals since the start, and how many came in a second since the overview before.
void add_outcomes(std::ostream& out, const overview& now, const overview* before) {
  out << "\n"
      << std::left << std::setw(18) << "outcome" << std::right << std::setw(12) << "total"
      << std::setw(12) << "per second"
      << "\n";
  for (const auto& [name, total] : now.whole["totals"].items()) {
    if (!total.is_number()) continue;
    out << "  " << std::left << std::setw(16) << terminal_text(name) << std::right << std::setw(12)
        << std::fixed << std::setprecision(0) << total.get<double>();
    if (before != nullptr) {
      const std::chrono::duration<double> passed = now.read_at - before->read_at;
      // A process that was started anew counts from 0.
      const double added =
          std::max(0.0, total.get<double>() - number_in(before->whole["totals"], name.c_str()));
      out << std::setw(12) << std::setprecision(1) << added / std::max(passed.count(), 1e-3);
    }
    out << "\n";
  }
}

void add_numbers(std::ostream& out, const json& object, std::initializer_list<const char*> names) {
  for (const auto* name : names) {
    out << "  " << std::left << std::setw(16) << name << std::right << std::setw(12) << std::fixed
        << std::setprecision(0) << number_in(object, name) << "\n";
  }
}

std::string page_of(const overview& now, const overview* before) {
  std::ostringstream out;
  add_condition(out, now.whole);
  add_outcomes(out, now, before);
  const auto* const history = base::find_member(now.whole, "history");
  if (history != nullptr && history->is_array() && !history->empty()) {
    out << "\n"
        << std::left << std::setw(18) << "time of" << std::right << std::setw(12) << "median"
        << std::setw(12) << "99 %"
        << "\n";
    add_times(out, *history);
  }
  out << "\nprocess\n";
  add_numbers(out, now.whole["process"], {"connections", "leases", "waiters", "buffered_bytes"});
  if (const auto* const counted = base::find_member(now.whole["records"], "by_state")) {
    out << "\nrecords\n";
    for (const auto& [state, count] : counted->items()) add_numbers(out, *counted, {state.c_str()});
  }
  return out.str();
}

struct top_request {
  admin_flags admin;
  bool once = false;
};

int run_top(const top_request& request) {
  const auto target = read_target(request.admin);
  if (!target) return exit_usage;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  boost::asio::io_context io;
  boost::asio::steady_timer timer(io);
  std::optional<overview> before;
  do {
    if (before) timer.wait();
    timer.expires_after(pause);
    auto now = read_overview(*target);
    if (!now && !before) return complain(now.error());
    if (terminal) std::cout << anew;
    if (now) {
      std::cout << page_of(*now, before ? &*before : nullptr) << std::flush;
      before = *std::move(now);
    } else {
      // It may come back: whoever looks wants to see when.
      std::cout << "out of reach: " << terminal_text(now.error().detail) << "\n" << std::flush;
    }
  } while (!request.once && std::cout.good());
  return exit_ok;
}

}  // namespace

void add_top_command(const command& added) {
  const auto request = std::make_shared<top_request>();
  added.add({{"--admin", &request->admin.address,
              "Where its admin listener is, as in [gateway] admin", required("ADDRESS")},
             {"--token-file", &request->admin.token_file, "A file with the token for --admin",
              typed("FILE")},
             {"--once", &request->once, "Show it once, and end"}});
  added.runs([=] { return run_top(*request); });
}

}  // namespace onceguard::cli::diagnose
