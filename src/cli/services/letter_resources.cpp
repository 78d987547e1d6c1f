#include "cli/services/letter_resources.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "admin/responses.hpp"
#include "admin/worker_api.hpp"
#include "audit/audited_resolve.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "cli/messages/letter_acts.hpp"
#include "cli/services/letter_request.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli::services {

namespace asio = boost::asio;
using asio::awaitable;
using nlohmann::ordered_json;

namespace {

/// Another look within that time gets the same.
constexpr std::chrono::seconds listing_age_max{5};
constexpr milliseconds in_doubt_max{30'000};

/// An act of a caller on the letters of one subscriber.
class letter_acts {
 public:
  letter_acts(const config::settings& settings, guard& records, std::string name,
              letter_request wanted, audit_author author, audit_log& log, bool retries,
              std::function<bool()> stopped)
      : settings_(settings),
        records_(records),
        name_(std::move(name)),
        left_(name_),
        wanted_(std::move(wanted)),
        author_(std::move(author)),
        log_(log),
        retries_(retries),
        stopped_(std::move(stopped)) {}

  awaitable<std::string> run() {
    for (const auto* each : tables_of(settings_, name_)) {
      auto handler = consume::message_handler::make(*each, records_);
      if (!handler) {
        left_.add_fault(handler.error());
        continue;
      }
      const box_work work = [&](consume::dead_letter_box& box,
                                std::vector<messages::known_letter> letters) {
        return act_on(*each, *handler, box, std::move(letters));
      };
      const auto done = co_await with_box(*each, records_, settings_.store.timeout, work);
      if (!done) left_.add_fault(done.error());
    }
    add_missing();
    ordered_json body{{"act", retries_ ? "retry" : "drop"}, {"dry_run", wanted_.dry}};
    body["messages"] = std::move(results_);
    body["faults"] = left_.faults();
    co_return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }

  /// What lies there after it: nobody has to look for that.
  [[nodiscard]] const letter_listing& left() const { return left_; }

 private:
  awaitable<result<void>> act_on(const consume::consume_params& params,
                                 consume::message_handler& handler, consume::dead_letter_box& box,
                                 std::vector<messages::known_letter> letters) {
    std::map<const messages::known_letter*, std::string> chosen;
    for (const auto& one : letters) {
      const auto name = names_.next(one.letter);
      const auto seen = std::ranges::find(wanted_.messages, name, &seen_letter::message);
      if (seen == wanted_.messages.end()) continue;
      found_.insert(name);
      const bool renewed = seen->revision && seen->revision != revision_of(one);
      const bool same =
          seen->state == messages::name_of(one.state) && seen->token == token_of(one) && !renewed;
      if (!same) {
        add(name, "changed", {});
      } else if (wanted_.dry) {
        const auto why = retries_ ? messages::obstacle_to_retry(one) : std::string();
        add(name, why.empty() ? "done" : "failed", why);
      } else {
        chosen.emplace(&one, name);
      }
    }
    std::set<const messages::known_letter*> gone;
    co_await change(params, handler, box, std::move(chosen), gone);
    for (auto& one : letters) {
      if (gone.contains(&one)) continue;
      auto now = co_await messages::find_record_of(records_.records(), params,
                                                   std::move(one.letter), settings_.store.timeout);
      if (!now) co_return now.error();
      left_.add(*now);
      box.hold();
    }
    if (letters.size() >= letters_max) left_.add_more();
    co_return result<void>();
  }

  /// `gone`: those that have left the box.
  awaitable<void> change(const consume::consume_params& params, consume::message_handler& handler,
                         consume::dead_letter_box& box,
                         std::map<const messages::known_letter*, std::string> chosen,
                         std::set<const messages::known_letter*>& gone) {
    messages::letter_desk desk{params, box, log_, author_,
                               [this](const record_view& before, resolution change) {
                                 return free(before, std::move(change));
                               }};
    const auto say = [&](const messages::known_letter& one, const messages::letter_end& end) {
      auto text = end.text;
      for (const auto& fault : end.faults) text += (text.empty() ? "" : "; ") + fault;
      const auto found = chosen.find(&one);
      add(found->second, end.done ? "done" : "failed", text);
      chosen.erase(found);
      if (end.done) gone.insert(&one);
    };
    std::vector<const messages::known_letter*> all;
    for (const auto& [one, name] : chosen) all.push_back(one);
    if (retries_) {
      messages::retry_terms terms{handler, desk, [this] { return !stopped_(); }, say};
      co_await messages::retry_letters(std::move(terms), std::move(all));
    }
    for (std::size_t i = 0; !retries_ && i < all.size() && !stopped_(); ++i) {
      say(*all[i], messages::drop_letter(desk, *all[i]));
      box.hold();
    }
    for (const auto& [one, name] : chosen) {
      add(name, "failed", "not tried: this process ends or reads its configuration again");
    }
  }

  awaitable<messages::freed_key> free(record_view before, resolution change) {
    resolve_times times;
    times.timeout = settings_.store.timeout;
    times.in_doubt_max = in_doubt_max;
    const audit_context audit{log_, author_, "release"};
    const std::optional<record_view> seen(std::move(before));
    const auto end =
        co_await resolve_audited(records_.records(), seen, std::move(change), audit, times);
    messages::freed_key out;
    if (end.resolved && end.resolved->outcome == resolve_outcome::done) {
      out.forgets_answer = end.resolved->forgets_answer;
      if (end.unwritten) {
        out.why = "its key is free, and the audit log lacks the end: " + end.unwritten->detail +
                  "; the message stays";
      }
      co_return out;
    }
    out.why = "its key was not freed: ";
    if (end.resolved) {
      out.why += outcome_text(end.resolved);
    } else {
      out.why += end.resolved.error().detail;
    }
    if (end.unwritten) out.why += "; " + end.unwritten->detail;
    out.why += "; it stays";
    co_return out;
  }

  void add(const std::string& name, const char* outcome, const std::string& detail) {
    ordered_json entry{{"message", name}, {"outcome", outcome}};
    if (!detail.empty()) entry["detail"] = detail;
    results_.push_back(std::move(entry));
  }

  void add_missing() {
    for (const auto& one : wanted_.messages) {
      if (!found_.contains(one.message)) add(one.message, "not_found", {});
    }
  }

  const config::settings& settings_;
  guard& records_;
  const std::string name_;
  letter_listing left_;
  letter_names names_;
  const letter_request wanted_;
  const audit_author author_;
  audit_log& log_;
  const bool retries_;
  const std::function<bool()> stopped_;
  std::set<std::string> found_;
  ordered_json results_ = ordered_json::array();
};

admin::response busy() {
  auto out = admin::refusal(503, "The dead letters are being looked at already; ask again.");
  out.fields = "Retry-After: 2\r\n";
  return out;
}

}  // namespace

letter_service::turn letter_service::begin() {
  {
    const std::lock_guard lock(mutex_);
    if (busy_ || closed_) return {};
    busy_ = true;
  }
  return {this, [](letter_service* service) { service->end(); }};
}

bool letter_service::is_closed() {
  const std::lock_guard lock(mutex_);
  return closed_;
}

void letter_service::end() {
  const std::lock_guard lock(mutex_);
  busy_ = false;
  ended_.notify_all();
}

void letter_service::close() {
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    ended_.wait(lock, [this] { return !busy_; });
  }
  pool_.join();  // the answer is on its way to the listener then
}

awaitable<admin::response> letter_service::list(const admin::request& wanted) {
  const auto name = admin::worker_of(wanted);
  if (tables_of(settings_, name).empty()) co_return admin::refusal(404, "There is no such worker.");
  const auto known = listings_.find(listing_key(settings_, name));
  const bool counted = reading_is_counted(settings_, name);
  const bool kept = known != listings_.end();
  if (kept && (counted || base::boot_now() - known->second.read_time < listing_age_max)) {
    co_return admin::response{.body = known->second.body};
  }
  if (counted) co_return admin::response{.body = letter_listing(name).body(counted, false)};
  auto mine = begin();
  if (!mine) co_return busy();
  auto out = co_await read_listing(name, std::move(mine));
  co_return admin::response{.body = std::move(out.body)};
}

awaitable<kept_listing> letter_service::read_listing(std::string name, turn mine) {
  auto work = [this, name, mine = std::move(mine)]() mutable -> awaitable<kept_listing> {
    const auto ending = std::move(mine);  // before the answer: its reader may ask again at once
    letter_listing listing(name);
    co_await list_letters(settings_, records_, name, listing);
    co_return kept_listing{listing.body(reading_is_counted(settings_, name)),
                           listing.faults().empty(), base::boot_now()};
  };
  auto out = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
  listings_[listing_key(settings_, name)] = out;
  co_return out;
}

awaitable<admin::response> letter_service::poll(const admin::request& wanted,
                                                const admin::audit_source& audit) {
  const auto name = admin::worker_of(wanted);
  if (tables_of(settings_, name).empty()) co_return admin::refusal(404, "There is no such worker.");
  const auto reason = read_poll_request(wanted.body);
  if (!reason) co_return admin::refusal(422, reason.error().detail);
  auto* log = audit();
  if (log == nullptr) co_return admin::refusal(503, "The audit log can't be opened.");
  auto mine = begin();
  if (!mine) co_return busy();
  audited_change change;
  change.action = "look";
  change.key = name;
  const audit_author author{wanted.sender.name, "admin", *reason};
  if (const auto line = log->intend(author, change); !line) {
    co_return admin::refusal(503, line.error().detail + "; nobody has looked");
  }
  auto out = co_await read_listing(name, std::move(mine));
  const auto line = log->conclude(author, change, out.whole ? "done" : "failed");
  if (!line) base::log(base::event::audit_not_written, {{"why", line.error().detail}});
  co_return admin::response{.body = std::move(out.body)};
}

awaitable<admin::response> letter_service::act(const admin::request& wanted, bool retries,
                                               const admin::audit_source& audit) {
  const auto name = admin::worker_of(wanted);
  if (tables_of(settings_, name).empty()) co_return admin::refusal(404, "There is no such worker.");
  auto request = read_letter_request(wanted.body);
  if (!request) co_return admin::refusal(422, request.error().detail);
  auto* log = audit();
  if (log == nullptr) co_return admin::refusal(503, "The audit log can't be opened.");
  auto mine = begin();
  if (!mine) co_return busy();
  audit_author author{wanted.sender.name, "admin", request->reason};
  const auto acts = std::make_shared<letter_acts>(settings_, records_, name, *std::move(request),
                                                  std::move(author), *log, retries,
                                                  [this] { return is_closed(); });
  auto work = [acts, mine = std::move(mine)]() mutable -> awaitable<std::string> {
    const auto ending = std::move(mine);
    co_return co_await acts->run();
  };
  auto body = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
  const bool counted = reading_is_counted(settings_, name);
  if (acts->left().faults().empty()) {
    listings_[listing_key(settings_, name)] = {acts->left().body(counted), true, base::boot_now()};
  } else if (!counted) {
    listings_.erase(listing_key(settings_, name));
  }
  co_return admin::response{.body = std::move(body)};
}

admin::resources letter_service::make_resources(admin::audit_source audit) {
  admin::resources out;
  out.push_back({"GET", "/api/workers/{worker}/messages", admin::access::view,
                 [this](const admin::request& wanted) { return list(wanted); }});
  out.push_back({"POST", "/api/workers/{worker}/messages/look", admin::access::act,
                 [this, audit](const admin::request& wanted) { return poll(wanted, audit); }});
  for (const bool retries : {true, false}) {
    out.push_back(
        {"POST",
         retries ? "/api/workers/{worker}/messages/retry" : "/api/workers/{worker}/messages/drop",
         admin::access::act, [this, audit, retries](const admin::request& wanted) {
           return act(wanted, retries, audit);
         }});
  }
  return out;
}

}  // namespace onceguard::cli::services
