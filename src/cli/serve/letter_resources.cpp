#include "cli/serve/letter_resources.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "admin/record_response.hpp"
#include "audit/audited_resolve.hpp"
#include "base/clock.hpp"
#include "cli/messages/letter_acts.hpp"
#include "cli/serve/letter_request.hpp"
#include "engine/background.hpp"
#include "store/staleness.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli {

namespace asio = boost::asio;
using asio::awaitable;
using nlohmann::ordered_json;

namespace {

/// How many are looked at: more than a person settles one by one.
constexpr std::size_t letters_max = 1'000;
/// How long a broker may send nothing before that is all there is.
constexpr milliseconds quiet{1'000};
/// Another look within that time gets the same: each costs a delivery at some brokers.
constexpr std::chrono::seconds listing_age_max{5};
constexpr milliseconds in_doubt_max{30'000};
constexpr milliseconds hold_pause{200};
constexpr milliseconds none{0};

/// The tables with this subscriber: each queue of dead letters once.
std::vector<const consume::consume_params*> tables_of(const config::settings& settings,
                                                      const std::string& name) {
  std::vector<const consume::consume_params*> out;
  std::set<std::string> seen;
  for (const auto& each : settings.consumers) {
    if (each.subscriber != name) continue;
    const auto url = consume::dead_letter_box_url(each);
    if (seen.insert(url ? *url : std::string()).second) out.push_back(&each);
  }
  return out;
}

/// What can be done with the letters of one table while its box is open.
using box_work =
    std::function<awaitable<result<void>>(consume::dead_letter_box&, std::vector<known_letter>)>;

awaitable<result<void>> with_box(const consume::consume_params& params, guard& records,
                                 milliseconds timeout, const box_work& work) {
  auto box = consume::dead_letter_box::open(params, letters_max);
  if (!box) co_return box.error();
  auto read = box->read(quiet);
  result<void> out;
  if (!read) out = read.error();
  std::vector<known_letter> letters;
  for (std::size_t i = 0; read && out && i < read->size(); ++i) {
    auto known = co_await find_record_of(records.records(), params, std::move((*read)[i]), timeout);
    if (known) {
      letters.push_back(*std::move(known));
    } else {
      out = known.error();
    }
    box->hold();
  }
  if (out) out = co_await work(*box, std::move(letters));
  const auto back = box->put_back();
  if (out && !back) {
    out = error(back.error().code, back.error().detail +
                                       "; the letters come again when the broker finds out that "
                                       "nobody holds them");
  }
  co_return out;
}

ordered_json letter_entry(const std::string& subscriber, const known_letter& one) {
  auto out = letter_json(subscriber, one, false);
  out["message"] = letter_name(one.letter);
  if (const auto token = token_of(one); token != 0) out["token"] = token;
  const auto why = obstacle_to_retry(one);
  if (!why.empty()) out["not_again"] = why;
  return out;
}

/// All letters of a subscriber. Whatever keeps a queue from being looked into stands beside them.
awaitable<std::string> list_letters(const config::settings& settings, guard& records,
                                    const std::string& name) {
  ordered_json body{{"worker", name}, {"looked_at", time_text(base::system_clock().wall_ms())}};
  auto& listed = body["messages"] = ordered_json::array();
  auto faults = ordered_json::array();
  bool more = false;
  const box_work list = [&](consume::dead_letter_box&,
                            std::vector<known_letter> letters) -> awaitable<result<void>> {
    for (const auto& one : letters) listed.push_back(letter_entry(name, one));
    more = more || letters.size() >= letters_max;
    co_return result<void>();
  };
  for (const auto* each : tables_of(settings, name)) {
    const auto done = co_await with_box(*each, records, settings.store.timeout, list);
    if (!done) faults.push_back(done.error().detail);
  }
  body["more"] = more;
  body["faults"] = std::move(faults);
  co_return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// An act of a caller on the letters of one subscriber.
class letter_acts {
 public:
  letter_acts(const config::settings& settings, guard& records, letter_request wanted,
              audit_author author, audit_log& log, bool retries, std::function<bool()> stopped)
      : settings_(settings),
        records_(records),
        wanted_(std::move(wanted)),
        author_(std::move(author)),
        log_(log),
        retries_(retries),
        stopped_(std::move(stopped)) {}

  awaitable<std::string> run(std::string name) {
    auto faults = ordered_json::array();
    for (const auto* each : tables_of(settings_, name)) {
      auto handler = consume::message_handler::make(*each, records_);
      if (!handler) {
        faults.push_back(handler.error().detail);
        continue;
      }
      const box_work work = [&](consume::dead_letter_box& box, std::vector<known_letter> letters) {
        return act_on(*each, *handler, box, std::move(letters));
      };
      const auto done = co_await with_box(*each, records_, settings_.store.timeout, work);
      if (!done) faults.push_back(done.error().detail);
    }
    add_missing();
    ordered_json body{{"act", retries_ ? "retry" : "drop"}, {"dry_run", wanted_.dry}};
    body["messages"] = std::move(results_);
    body["faults"] = std::move(faults);
    co_return body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }

 private:
  awaitable<result<void>> act_on(const consume::consume_params& params,
                                 consume::message_handler& handler, consume::dead_letter_box& box,
                                 std::vector<known_letter> letters) {
    for (const auto& one : letters) {
      const auto name = letter_name(one.letter);
      const auto seen = std::ranges::find(wanted_.messages, name, &seen_letter::message);
      if (seen == wanted_.messages.end()) continue;
      found_.insert(name);
      if (stopped_()) {
        add(name, "failed", "not tried: this process ends or reads its configuration again");
        continue;
      }
      const bool same = seen->state == name_of(one.state) && seen->token == token_of(one);
      if (!same) {
        add(name, "changed", {});
        continue;
      }
      if (wanted_.dry) {
        const auto why = retries_ ? obstacle_to_retry(one) : std::string();
        add(name, why.empty() ? "done" : "failed", why);
        continue;
      }
      co_await change(params, handler, box, one);
    }
    co_return result<void>();
  }

  awaitable<void> change(const consume::consume_params& params, consume::message_handler& handler,
                         consume::dead_letter_box& box, const known_letter& one) {
    letter_desk desk{params, box, log_, author_,
                     [this, &box](const record_view& before, resolution change) {
                       return free(box, before, std::move(change));
                     }};
    letter_end end;
    if (retries_) {
      end = co_await retry_letter(handler, desk, one);
    } else {
      end = drop_letter(desk, one);
    }
    box.hold();
    auto text = end.text;
    for (const auto& fault : end.faults) text += (text.empty() ? "" : "; ") + fault;
    add(letter_name(one.letter), end.done ? "done" : "failed", text);
  }

  awaitable<std::string> free(consume::dead_letter_box& box, record_view before,
                              resolution change) {
    resolve_times times;
    times.timeout = settings_.store.timeout;
    times.in_doubt_max = in_doubt_max;
    const audit_context audit{log_, author_, "release"};
    const std::optional<record_view> seen(std::move(before));
    const auto end =
        co_await resolve_audited(records_.records(), seen, std::move(change), audit, times);
    if (end.resolved && end.resolved->outcome == resolve_outcome::done && !end.unwritten) {
      // This process, too, may still give the forgotten answer from memory.
      const auto until = base::boot_now() + (end.resolved->forgets_answer ? stale_after : none);
      while (base::boot_now() < until) {
        co_await sleep_for(hold_pause);
        box.hold();
      }
      co_return std::string();
    }
    if (end.resolved && end.resolved->outcome == resolve_outcome::done) {
      co_return "its key is free, and the audit log lacks the end: " + end.unwritten->detail +
          "; the message stays";
    }
    std::string why = "its key was not freed: ";
    if (end.resolved) {
      why += outcome_text(end.resolved);
    } else {
      why += end.resolved.error().detail;
    }
    if (end.unwritten) why += "; " + end.unwritten->detail;
    co_return why + "; it stays";
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

bool letter_service::begin() {
  const std::lock_guard lock(mutex_);
  if (busy_ || closed_) return false;
  busy_ = true;
  return true;
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
  const auto name = wanted.segment;
  if (tables_of(settings_, name).empty()) co_return admin::refusal(404, "There is no such worker.");
  const auto known = listings_.find(name);
  if (known != listings_.end() && base::boot_now() - known->second.read_time < listing_age_max) {
    co_return admin::response{.body = known->second.body};
  }
  if (!begin()) co_return busy();
  auto work = [this, name]() -> awaitable<std::string> {
    const std::shared_ptr<void> ending(nullptr, [this](void*) { end(); });
    co_return co_await list_letters(settings_, records_, name);
  };
  auto body = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
  listings_[name] = {body, base::boot_now()};
  co_return admin::response{.body = std::move(body)};
}

awaitable<admin::response> letter_service::act(const admin::request& wanted, bool retries,
                                               const admin::audit_source& audit) {
  const auto name = wanted.segment;
  if (tables_of(settings_, name).empty()) co_return admin::refusal(404, "There is no such worker.");
  auto request = read_letter_request(wanted.body);
  if (!request) co_return admin::refusal(422, request.error().detail);
  auto* log = audit();
  if (log == nullptr) co_return admin::refusal(503, "The audit log can't be opened.");
  if (!begin()) co_return busy();
  audit_author author{wanted.sender.name, "admin", request->reason};
  const auto acts =
      std::make_shared<letter_acts>(settings_, records_, *std::move(request), std::move(author),
                                    *log, retries, [this] { return is_closed(); });
  auto work = [this, acts, name]() -> awaitable<std::string> {
    const std::shared_ptr<void> ending(nullptr, [this](void*) { end(); });
    co_return co_await acts->run(name);
  };
  auto body = co_await asio::co_spawn(pool_, std::move(work), asio::use_awaitable);
  listings_.erase(name);
  co_return admin::response{.body = std::move(body)};
}

admin::resources letter_service::make_resources(admin::audit_source audit) {
  admin::resources out;
  out.push_back({"GET", "/api/workers/{worker}/messages", admin::access::view,
                 [this](const admin::request& wanted) { return list(wanted); }});
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

}  // namespace onceguard::cli
