#include "admin/resolve_api.hpp"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include <onceguard/fingerprint.hpp>

#include "admin/page_cursor.hpp"
#include "admin/record_path.hpp"
#include "admin/resolve_request.hpp"
#include "admin/responses.hpp"
#include "audit/audited_resolve.hpp"
#include "base/clock.hpp"
#include "core/kept_key.hpp"
#include "store/resolve.hpp"
#include "store/sealed/sealed_answer.hpp"
#include "text/record_json.hpp"

namespace onceguard::admin {

namespace asio = boost::asio;
using nlohmann::ordered_json;

namespace {

// A call for a selection ends after about this time, whatever it has chosen.
constexpr milliseconds selection_time{10'000};
constexpr milliseconds selection_in_doubt_max{5'000};

std::string_view name_of(resolve_outcome outcome) {
  switch (outcome) {
    case resolve_outcome::done:
      return "done";
    case resolve_outcome::not_found:
      return "not_found";
    case resolve_outcome::running:
      return "running";
    case resolve_outcome::changed:
      return "changed";
    case resolve_outcome::already_completed:
      break;
  }
  return "already_completed";
}

response act_response(const resolve_decision& decided, act which, const resolve_request& wanted) {
  ordered_json more;
  more["outcome"] = name_of(decided.outcome);
  switch (decided.outcome) {
    case resolve_outcome::done:
      break;
    case resolve_outcome::not_found:
      return refusal(404, "There is no such record.", more);
    case resolve_outcome::running: {
      more["retry_after_ms"] = decided.retry_after.count();
      auto out = refusal(409,
                         "It may still be running; try again later, or use force if you know "
                         "that it is not.",
                         more);
      const auto seconds = std::max<std::int64_t>((decided.retry_after.count() + 999) / 1'000, 1);
      out.fields = "Retry-After: " + std::to_string(seconds) + "\r\n";
      return out;
    }
    case resolve_outcome::changed:
      return refusal(409,
                     "It has changed since it was seen: another lease, or the same one was "
                     "renewed. Nothing was changed.",
                     more);
    case resolve_outcome::already_completed:
      return refusal(409,
                     which == act::complete
                         ? "It is completed, and an answer that was kept is never replaced."
                         : "It is completed. To forget it all the same, delete it.",
                     more);
  }
  ordered_json body;
  body["act"] = name_of(which);
  body["dry_run"] = wanted.dry_run;
  body["forgets_answer"] = decided.forgets_answer;
  return json_response(body);
}

resolution resolution_of(act which, const resolve_request& wanted, const record_id& id,
                         const record_view* seen, const resolve_params& params) {
  resolution out;
  out.id = id;
  out.completed = which == act::complete;
  out.answer = wanted.answer;
  out.token = wanted.token;
  out.revision = wanted.revision;
  out.force = wanted.force;
  out.keep_completed = which == act::release || wanted.keep_completed;
  out.retention = params.retention(seen != nullptr ? seen->stored.about->route : std::string());
  return out;
}

/// Of a selection: each change is only for the attempt that was listed, as the filter chose it.
resolution resolution_of_listed(act which, const resolve_request& wanted, const record_view& seen,
                                const resolve_params& params) {
  auto out = resolution_of(which, wanted, seen.id, &seen, params);
  const auto bound = resolution_of_seen(seen);
  out.token = bound.token;
  out.revision = bound.revision;  // of what failed there is none, and it may be completed, too
  out.keep_completed = which == act::release || seen.state != observed_state::completed;
  return out;
}

/// The subject of a record that can't be read, as the caller names it; null: it is not named.
result<subject_ptr> subject_of(const resolve_request& wanted, const record_id& id) {
  if (!wanted.key || !wanted.scope) return subject_ptr();
  auto key = core::key_to_find(*wanted.key);
  if (make_record_id(*wanted.scope, key) != id) {
    return error(errc::invalid_argument, "key and scope: they are those of another record");
  }
  auto out = std::make_shared<subject>();
  out->key = std::move(key);
  out->scope = *wanted.scope;
  return subject_ptr(std::move(out));
}

asio::awaitable<response> change_record(store& records, resolve_params params, act which,
                                        const request& request) {
  const auto id = record_in_path(request);
  if (!id) co_return no_record_in_path();
  const auto wanted = read_act(request.body, which);
  if (!wanted) co_return refusal(422, wanted.error().detail);
  auto found = co_await records.find(*id, params.timeout);
  std::optional<record_view> before;
  if (found) {
    if (!*found) co_return refusal(404, "There is no such record.", {{"outcome", "not_found"}});
    before = std::move(**found);
  } else if (found.error().code != errc::record_unreadable) {
    co_return store_response(found.error());
  } else if (!wanted->force) {
    const auto& why = found.error().detail;
    co_return refusal(409,
                      sealed::lacks_key(why)
                          ? "It took effect, and its answer can't be read here (" + why + ")."
                          : "The record can't be read; force replaces it.",
                      {{"outcome", "unreadable"}});
  }
  auto change = resolution_of(which, *wanted, *id, before ? &*before : nullptr, params);
  if (!before) {
    auto about = subject_of(*wanted, *id);
    if (!about) co_return refusal(422, about.error().detail);
    change.about = *std::move(about);
  }
  if (wanted->dry_run) {
    const auto preview =
        before ? preview_resolution(*before, change) : resolve_unreadable(change, {}, 0);
    co_return act_response(preview, which, *wanted);
  }
  auto* audit = params.audit();
  if (audit == nullptr) co_return refusal(503, "The gateway is not ready yet.");
  const audit_author author{request.sender.name, "admin", wanted->reason};
  resolve_times times;
  times.timeout = params.timeout;
  const auto end = co_await resolve_audited(records, std::move(before), std::move(change),
                                            {*audit, author, name_of(which)}, times);
  // A line that can't be written now changes nothing any more; the log has the event.
  if (!end.resolved) co_return store_response(end.resolved.error());
  if (end.resolved->forgets_answer && wanted->wait) co_await outlast_caches();
  co_return act_response(*end.resolved, which, *wanted);
}

/// Changes the records of one page.
class selection {
 public:
  selection(store& records, const resolve_params& params, act which,
            const selection_request& wanted, const request& request)
      : records_(records),
        params_(params),
        which_(which),
        wanted_(wanted),
        author_{request.sender.name, "admin", wanted.act.reason} {}

  asio::awaitable<response> run() {
    auto* audit = params_.audit();
    if (audit == nullptr) co_return refusal(503, "The gateway is not ready yet.");
    const auto page = co_await list_filtered(records_, wanted_.filter, wanted_.cursor,
                                             wanted_.limit, params_.timeout);
    if (!page) co_return page_response(422, page.error());
    const auto until = base::boot_now() + selection_time;
    body_["act"] = name_of(which_);
    body_["dry_run"] = wanted_.act.dry_run;
    body_["records"] = ordered_json::array();
    for (const auto& seen : page->unreadable) {
      auto entry = record_json(seen);
      entry["outcome"] = "unreadable";
      body_["records"].push_back(std::move(entry));
    }
    for (const auto& seen : page->records) {
      if (seen.state == observed_state::released) continue;
      if (base::boot_now() > until) stopped_ = "its time was over";
      if (!stopped_.empty()) break;
      co_await add(seen, *audit);
    }
    if (forgets_answer_ && wanted_.act.wait) co_await outlast_caches();
    body_["changed"] = changed_;
    body_["forgets_answer"] = forgets_answer_;
    // The same page again: what is changed by then does not fit the filter any more.
    body_["cursor"] = cursor_text(stopped_.empty() ? page->cursor : wanted_.cursor);
    if (!stopped_.empty()) body_["stopped"] = stopped_;
    co_return json_response(body_);
  }

 private:
  asio::awaitable<void> add(const record_view& seen, audit_log& audit) {
    auto entry = record_json(seen, false);
    auto change = resolution_of_listed(which_, wanted_.act, seen, params_);
    if (wanted_.act.dry_run) {
      entry["outcome"] = name_of(preview_resolution(seen, change).outcome);
    } else {
      resolve_times times;
      times.timeout = params_.timeout;
      times.in_doubt_max = selection_in_doubt_max;
      const auto end = co_await resolve_audited(records_, seen, std::move(change),
                                                {audit, author_, name_of(which_)}, times);
      entry["outcome"] = outcome_of(end.resolved);
    }
    body_["records"].push_back(std::move(entry));
  }

  std::string_view outcome_of(const result<resolve_decision>& resolved) {
    if (!resolved) {
      stopped_ = resolved.error().detail;
      return resolved.error().effect == effect::none ? "failed" : "unknown";
    }
    forgets_answer_ = forgets_answer_ || resolved->forgets_answer;
    if (resolved->outcome == resolve_outcome::done) ++changed_;
    return name_of(resolved->outcome);
  }

  store& records_;
  const resolve_params& params_;
  const act which_;
  const selection_request& wanted_;
  const audit_author author_;
  ordered_json body_;
  std::size_t changed_ = 0;
  bool forgets_answer_ = false;
  std::string stopped_;  // why it ended early; empty: it is not ended
};

asio::awaitable<response> change_selection(store& records, resolve_params params, act which,
                                           const request& request) {
  auto wanted = read_selection(request.body, which);
  if (!wanted) co_return refusal(422, wanted.error().detail);
  auto cursor = read_cursor(wanted->cursor);
  if (!cursor) co_return refusal(422, cursor.error().detail);
  wanted->cursor = *std::move(cursor);
  selection chosen(records, params, which, *wanted, request);
  co_return co_await chosen.run();
}

}  // namespace

resources resolve_resources(store& records, const resolve_params& params) {
  using action = asio::awaitable<response> (*)(store&, resolve_params, act, const request&);
  resources out;
  const auto add = [&](std::string_view pattern, act which, action change) {
    out.push_back(
        {"POST", pattern, access::act, [&records, params, which, change](const request& wanted) {
           return change(records, params, which, wanted);
         }});
  };
  add("/api/records/release", act::release, change_selection);
  add("/api/records/complete", act::complete, change_selection);
  add("/api/records/delete", act::erase, change_selection);
  add("/api/records/{record}/release", act::release, change_record);
  add("/api/records/{record}/complete", act::complete, change_record);
  add("/api/records/{record}/delete", act::erase, change_record);
  return out;
}

}  // namespace onceguard::admin
