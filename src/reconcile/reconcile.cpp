#include "reconcile/reconcile.hpp"

#include <algorithm>
#include <deque>
#include <exception>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.hpp"
#include "base/hex.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "core/application_scope.hpp"
#include "engine/effect_report.hpp"
#include "engine/held_lease.hpp"
#include "store/record_view.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

constexpr std::size_t page_size = 64;  // small, so that a listed record is processed soon
constexpr std::size_t at_once = 8;     // questions in flight at the same time

/// How long the earlier attempt may still be under way.
milliseconds too_early_for(const record_view& seen, const inquiry& inquiry) {
  const auto& r = seen.stored;
  // After an answer of the upstream, the work is over, whatever its outcome.
  if (r.why == unknown_reason::upstream_status && !r.earlier_unknown) return milliseconds(0);
  return std::max(inquiry.quiet + seen.lease_left, milliseconds(0));
}

finding_kind kind_of(effect_status status) noexcept {
  switch (status) {
    case effect_status::done:
      return finding_kind::done;
    case effect_status::not_done:
      return finding_kind::not_done;
    case effect_status::unknown:
      break;
  }
  return finding_kind::still_unknown;
}

audited_change change_of(const finding& found, effect_status status) {
  const bool done = status == effect_status::done;
  audited_change out;
  out.action = done ? "complete" : "release";
  out.record = found.seen.id;
  out.key = found.seen.stored.about->key;
  out.former = name_of(found.seen.state);
  out.wanted = name_of(done ? observed_state::completed : observed_state::released);
  return out;
}

settle_terms release_terms() {
  settle_terms out;
  out.kind = settle_kind::release;
  return out;
}

class round {
 public:
  round(asio::io_context& io, store& records, const reconcile_params& params,
        const inquiry_chooser& choose, const finding_listener& listener)
      : io_(io), store_(records), params_(params), choose_(choose), listener_(listener) {}

  asio::awaitable<result<reconcile_counts>> run();

 private:
  asio::awaitable<void> work_off();
  asio::awaitable<void> work_on_each();
  asio::awaitable<void> work_on(finding& finding);
  asio::awaitable<void> ask_now(finding& finding, const inquiry& inquiry);
  [[nodiscard]] bool may_have_expired(const record_view& seen) const;
  asio::awaitable<void> preview(finding& finding, const inquiry& inquiry);
  asio::awaitable<void> conclude(finding& finding, const inquiry& inquiry, held_lease& held,
                                 effect_report report);
  asio::awaitable<void> settle_by_report(finding& finding, const held_lease& held,
                                         settle_terms terms, effect_status status);
  asio::awaitable<bool> settle(finding& finding, const held_lease& held, settle_terms terms);
  void refused(finding& finding, const verdict& verdict);
  void failed(const error& why);
  void count(const finding& finding);

  asio::io_context& io_;
  store& store_;
  const reconcile_params& params_;
  const inquiry_chooser& choose_;
  const finding_listener& listener_;
  std::deque<record_view> waiting_;
  base::boot_clock::time_point listed_at_;  // from before the list of those that wait was sent
  std::size_t seen_ = 0;
  std::optional<error> failure_;
  reconcile_counts counts_;
};

asio::awaitable<result<reconcile_counts>> round::run() {
  list_filter filter;
  filter.states = {observed_state::unknown};
  std::string cursor;
  do {
    listed_at_ = base::boot_now();
    auto page = co_await store_.list(filter, cursor, page_size, params_.store_timeout);
    if (!page) co_return page.error();
    for (auto& seen : page->records) {
      if (params_.limit != 0 && seen_ == params_.limit) break;
      ++seen_;
      waiting_.push_back(std::move(seen));
    }
    co_await work_off();
    if (failure_) co_return *failure_;
    cursor = params_.limit != 0 && seen_ == params_.limit ? std::string() : page->cursor;
  } while (!cursor.empty());
  co_return counts_;
}

/// Processes several records at a time, so that their claims and settles share batches.
asio::awaitable<void> round::work_off() {
  std::size_t running = std::min(at_once, waiting_.size());
  if (running == 0) co_return;
  asio::steady_timer all_ended(io_);
  all_ended.expires_at(asio::steady_timer::time_point::max());
  std::exception_ptr fault;
  auto ended = [&](std::exception_ptr thrown) {
    if (thrown) fault = thrown;
    if (--running == 0) all_ended.cancel();
  };
  for (std::size_t i = running; i > 0; --i) asio::co_spawn(io_, work_on_each(), ended);
  boost::system::error_code cancelled;
  co_await all_ended.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (fault) std::rethrow_exception(fault);
}

asio::awaitable<void> round::work_on_each() {
  while (!waiting_.empty() && !failure_) {
    finding finding;
    finding.seen = std::move(waiting_.front());
    waiting_.pop_front();
    co_await work_on(finding);
    if (failure_) co_return;
    count(finding);
    listener_(finding);
  }
}

asio::awaitable<void> round::work_on(finding& finding) {
  finding.preview = params_.dry_run;
  const auto inquiry = choose_(*finding.seen.stored.about);
  if (inquiry.source == nullptr) {
    finding.kind = finding_kind::still_unknown;
    finding.why = "there is no query, and its route has no probe";
    co_return;
  }
  finding.means = inquiry.source->name();
  if (const auto left = too_early_for(finding.seen, inquiry); left.count() > 0) {
    finding.kind = finding_kind::too_early;
    finding.retry_after = left;
    finding.why = "the first attempt may still be under way";
    co_return;
  }
  if (params_.dry_run) {
    co_await preview(finding, inquiry);
  } else {
    co_await ask_now(finding, inquiry);
  }
}

asio::awaitable<void> round::preview(finding& finding, const inquiry& inquiry) {
  const auto reply =
      co_await inquiry.source->preview(*finding.seen.stored.about, finding.seen.stored.token);
  if (!reply) {
    finding.kind = finding_kind::still_unknown;
    finding.why = "would be asked";
    co_return;
  }
  finding.why = reply->why;
  finding.kind = kind_of(reply->status);
}

/// Attempts are counted anew after a record has expired.
bool round::may_have_expired(const record_view& seen) const {
  return seen.retention_left.count() != 0 && listed_at_ + seen.retention_left <= base::boot_now();
}

asio::awaitable<void> round::ask_now(finding& finding, const inquiry& inquiry) {
  const auto& r = finding.seen.stored;
  claim request;
  request.id = finding.seen.id;
  base::random_bytes(request.claim_id);
  request.about = r.about;
  request.lease = params_.lease;
  request.unknown = unknown_policy::probe;
  request.probe_after = inquiry.probe_after;
  request.unknown_retention = milliseconds(r.unknown_retention_ms);
  // If the key is free by now, the granted lease is released. As that lease is only `started`, the
  // outcome is not unknown if this process stops meanwhile.
  request.into_started = true;
  const auto before = base::boot_now();
  std::vector<claim> batch(1, request);
  const auto replies = co_await store_.claim(std::move(batch), params_.store_timeout);
  if (!replies[0]) co_return failed(replies[0].error());
  const auto& got = *replies[0];
  if (got.kind != verdict_kind::run) co_return refused(finding, got);

  const auto held = std::make_shared<held_lease>(io_, store_, request.id, got.lease, params_.lease,
                                                 params_.store_timeout, before);
  // If there was another attempt meanwhile, the quiet time after that attempt was not waited for.
  const bool next = got.lease.attempt == r.attempt + 1 && !may_have_expired(finding.seen);
  if (!got.lease.probe || !next) {
    settle_terms back;
    back.kind = got.lease.probe ? settle_kind::abandon : settle_kind::release;
    co_await settle(finding, *held, std::move(back));
    finding.why = "somebody else had it meanwhile";
    co_return;
  }
  finding.fenced_with = got.lease.token;
  held->keep_renewing();
  auto reply = co_await inquiry.source->ask(*r.about, *held);
  co_await conclude(finding, inquiry, *held, std::move(reply));
}

asio::awaitable<void> round::conclude(finding& finding, const inquiry& inquiry, held_lease& held,
                                      effect_report report) {
  auto terms = terms_after(report, inquiry.retention);
  if (!terms) {
    // The dispatch ends the unknown attempt. A release without a dispatch would leave the record
    // unknown.
    const auto dispatched = co_await held.dispatch();
    terms = release_terms();
    if (!dispatched) {
      failed(dispatched.error());
      // The settle leaves the record unknown or free, so that this lease does not block the record
      // until it runs out.
      held.stop_renewing();
      co_await settle(finding, held, std::move(*terms));
      co_return;
    }
  }
  held.stop_renewing();
  finding.why = std::move(report.why);
  co_await settle_by_report(finding, held, std::move(*terms), report.status);
}

/// Writes the change into the audit log, and makes it. The change that can't be written is not
/// made: the outcome stays unknown.
asio::awaitable<void> round::settle_by_report(finding& finding, const held_lease& held,
                                              settle_terms terms, effect_status status) {
  const bool audited = params_.audit != nullptr && status != effect_status::unknown;
  const auto change = change_of(finding, status);
  auto author = params_.author;
  author.why = std::string(finding.means) + (finding.why.empty() ? "" : ": " + finding.why);
  if (audited) {
    if (const auto line = params_.audit->intend(author, change); !line) {
      failed(line.error());
      terms = {};
      terms.kind = settle_kind::abandon;
    }
  }
  // The answer is the application's, and its own sessions may read it.
  terms.by_application =
      terms.kind == settle_kind::complete && is_of_applications(*finding.seen.stored.about);
  const bool stands = co_await settle(finding, held, std::move(terms));
  if (failure_) co_return;
  if (stands) finding.kind = kind_of(status);
  if (!audited) co_return;
  const auto line = params_.audit->conclude(author, change, stands ? "done" : "not done");
  if (!line) {
    base::log(base::event::audit_not_written,
              {{"why", line.error().detail}, {"record", base::to_hex(finding.seen.id)}});
  }
}

/// False: the store failed, or the lease is stale.
asio::awaitable<bool> round::settle(finding& finding, const held_lease& held, settle_terms terms) {
  auto request = settle_lease(held.id(), held.lease(), finding.seen.stored.about, std::move(terms));
  for (;;) {
    std::vector<settlement> batch(1, request);
    const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
    if (!replies[0]) {
      failed(replies[0].error());
      co_return false;
    }
    if (replies[0]->outcome != settle_outcome::stale) co_return true;
    // An application would roll back now. This effect has been there for long: it is kept, also
    // where the record is gone or was released meanwhile.
    if (!std::exchange(request.by_application, false)) break;
  }
  finding.kind = finding_kind::left_alone;
  finding.why = "somebody else has the word meanwhile";
  co_return false;
}

void round::refused(finding& finding, const verdict& verdict) {
  switch (verdict.kind) {
    case verdict_kind::unknown:
      finding.kind = finding_kind::too_early;
      finding.retry_after = verdict.retry_after;
      finding.why = "the first attempt may still be under way, or it was asked just now";
      break;
    case verdict_kind::busy:
      finding.why = "somebody else has it now";
      break;
    default:
      finding.why = "it is unknown no more";
      break;
  }
}

void round::failed(const error& why) {
  if (!failure_) failure_ = why;
}

void round::count(const finding& finding) {
  switch (finding.kind) {
    case finding_kind::done:
      ++counts_.done;
      break;
    case finding_kind::not_done:
      ++counts_.not_done;
      break;
    case finding_kind::still_unknown:
      ++counts_.still_unknown;
      break;
    case finding_kind::too_early:
      ++counts_.too_early;
      break;
    case finding_kind::left_alone:
      ++counts_.left_alone;
      break;
  }
}

/// Findings that can't be acted on yet would repeat in each round, so their level is debug.
base::log_level level_of_finding(const finding& found) noexcept {
  switch (found.kind) {
    case finding_kind::done:
    case finding_kind::not_done:
      return base::log_level::info;
    case finding_kind::still_unknown:
      return found.means.empty() ? base::log_level::debug : base::log_level::info;
    case finding_kind::too_early:
    case finding_kind::left_alone:
      break;
  }
  return base::log_level::debug;
}

}  // namespace

asio::awaitable<result<void>> outcome_source::prepare() { co_return result<void>(); }

asio::awaitable<std::optional<effect_report>> outcome_source::preview(const subject&, token) {
  co_return std::nullopt;
}

std::string_view name_of(finding_kind kind) noexcept {
  switch (kind) {
    case finding_kind::done:
      return "done";
    case finding_kind::not_done:
      return "not_done";
    case finding_kind::still_unknown:
      return "still_unknown";
    case finding_kind::too_early:
      return "too_early";
    case finding_kind::left_alone:
      return "left_alone";
  }
  return "";
}

asio::awaitable<result<reconcile_counts>> reconcile(asio::io_context& io, store& records,
                                                    reconcile_params params, inquiry_chooser choose,
                                                    finding_listener listener) {
  round one(io, records, params, choose, listener);
  co_return co_await one.run();
}

void log_finding(const finding& found) {
  const auto& r = found.seen.stored;
  base::log(base::event::reconciled, level_of_finding(found),
            {{"decided", std::string(name_of(found.kind))},
             {"means", std::string(found.means)},
             {"scope", base::digest_text(r.about->scope)},
             {"key", r.about->key},
             {"route", r.about->route},
             {"record", base::digest_text(found.seen.id)},
             {"claimed_ms", r.claimed_at_wall},
             {"was_unknown", std::string(name_of(reason_of(found.seen)))},
             {"fenced_with", found.fenced_with},
             {"why", found.why}});
}

}  // namespace onceguard
