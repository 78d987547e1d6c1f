#include "reconcile/reconcile.hpp"

#include <algorithm>
#include <deque>
#include <exception>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "engine/held_lease.hpp"

namespace onceguard {

namespace asio = boost::asio;

namespace {

constexpr std::size_t page_size = 64;  // small: what is listed is soon looked at
constexpr std::size_t at_once = 8;     // questions that are under way at the same time
constexpr milliseconds lease{30'000};  // to ask; renewed while the answer takes its time
constexpr milliseconds probe_pause{1'000};

/// How long the first attempt may still be under way.
milliseconds too_early_for(const record_view& seen, const inquiry& inquiry) {
  const auto& r = seen.stored;
  // After an answer the work is over, whatever it was.
  if (r.why == unknown_reason::upstream_status && !r.earlier_unknown) return milliseconds(0);
  return std::max(inquiry.quiet + seen.lease_left, milliseconds(0));
}

class round {
 public:
  round(asio::io_context& io, store& records, const reconcile_params& params,
        const inquiry_chooser& choose, const finding_listener& listener)
      : io_(io), store_(records), params_(params), choose_(choose), told_(listener) {}

  asio::awaitable<result<reconcile_counts>> run();

 private:
  asio::awaitable<void> work_off();
  asio::awaitable<void> look_at_each();
  asio::awaitable<void> look_at(finding& finding);
  asio::awaitable<void> ask_now(finding& finding, const inquiry& inquiry);
  asio::awaitable<void> preview(finding& finding, const inquiry& inquiry);
  asio::awaitable<void> conclude(finding& finding, const inquiry& inquiry, held_lease& held,
                                 probe_report report);
  asio::awaitable<bool> settle(finding& finding, const held_lease& held, settlement request);
  void refused(finding& finding, const verdict& verdict);
  void failed(const error& why);
  void count(const finding& finding);

  asio::io_context& io_;
  store& store_;
  const reconcile_params& params_;
  const inquiry_chooser& choose_;
  const finding_listener& told_;
  std::deque<record_view> waiting_;
  std::size_t looked_at_ = 0;
  std::optional<error> failure_;
  reconcile_counts counts_;
};

asio::awaitable<result<reconcile_counts>> round::run() {
  list_filter filter;
  filter.state = observed_state::unknown;
  std::string cursor;
  do {
    auto page = co_await store_.list(filter, cursor, page_size, params_.store_timeout);
    if (!page) co_return page.error();
    for (auto& seen : page->records) {
      if (params_.limit != 0 && looked_at_ == params_.limit) break;
      ++looked_at_;
      waiting_.push_back(std::move(seen));
    }
    co_await work_off();
    if (failure_) co_return *failure_;
    cursor = params_.limit != 0 && looked_at_ == params_.limit ? std::string() : page->cursor;
  } while (!cursor.empty());
  co_return counts_;
}

/// Several at a time: their claims and settles travel together.
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
  for (std::size_t i = running; i > 0; --i) asio::co_spawn(io_, look_at_each(), ended);
  boost::system::error_code cancelled;
  co_await all_ended.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
  if (fault) std::rethrow_exception(fault);
}

asio::awaitable<void> round::look_at_each() {
  while (!waiting_.empty() && !failure_) {
    finding finding;
    finding.seen = std::move(waiting_.front());
    waiting_.pop_front();
    co_await look_at(finding);
    if (failure_) co_return;
    count(finding);
    told_(finding);
  }
}

asio::awaitable<void> round::look_at(finding& finding) {
  finding.preview = params_.dry_run;
  const auto request = choose_(*finding.seen.stored.about);
  if (request.source == nullptr) {
    finding.what = finding_kind::still_unknown;
    finding.why = "there is no query, and its route has no probe";
    co_return;
  }
  finding.means = request.source->name();
  if (const auto left = too_early_for(finding.seen, request); left.count() > 0) {
    finding.what = finding_kind::too_early;
    finding.retry_after = left;
    finding.why = "the first attempt may still be under way";
    co_return;
  }
  if (params_.dry_run) {
    co_await preview(finding, request);
  } else {
    co_await ask_now(finding, request);
  }
}

asio::awaitable<void> round::preview(finding& finding, const inquiry& inquiry) {
  const auto reply =
      co_await inquiry.source->preview(*finding.seen.stored.about, finding.seen.stored.token);
  finding.what = finding_kind::still_unknown;
  if (!reply) {
    finding.why = "would be asked";
    co_return;
  }
  finding.why = reply->why;
  if (reply->said == probe_answer::did) finding.what = finding_kind::done;
  if (reply->said == probe_answer::did_not) finding.what = finding_kind::not_done;
}

asio::awaitable<void> round::ask_now(finding& finding, const inquiry& inquiry) {
  const auto& r = finding.seen.stored;
  claim request;
  request.id = finding.seen.id;
  base::random_bytes(request.claim_id);
  request.about = r.about;
  request.lease = lease;
  request.unknown = unknown_policy::probe;
  request.probe_after = inquiry.probe_after;
  request.unknown_retention = milliseconds(r.unknown_retention_ms);
  // Should the key be free by now, what this claim gets is given back; and should it come to
  // nothing meanwhile, nobody has to wonder whether it ran.
  request.into_started = true;
  const auto before = base::boot_now();
  std::vector<claim> batch(1, request);
  const auto replies = co_await store_.claim(std::move(batch), params_.store_timeout);
  if (!replies[0]) co_return failed(replies[0].error());
  const auto& got = *replies[0];
  if (got.kind != verdict_kind::run) co_return refused(finding, got);

  const auto held = std::make_shared<held_lease>(io_, store_, request.id, got.lease, lease,
                                                 params_.store_timeout, before);
  // Another attempt in between would be one that nobody has waited for.
  if (!got.lease.probe || got.lease.attempt != r.attempt + 1) {
    settlement back;
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
                                      probe_report report) {
  settlement end;
  end.retention = inquiry.retention;
  auto found = finding_kind::still_unknown;
  switch (report.said) {
    case probe_answer::did:
      found = finding_kind::done;
      end.kind = settle_kind::complete;
      end.answer = report.answer;
      end.kept = report.answer ? answer_kept::full : answer_kept::none;
      break;
    case probe_answer::did_not: {
      // With that word the unknown attempt is over; released without it, the record would still
      // be as unknown as before.
      const auto dispatched = co_await held.dispatch();
      if (!dispatched) {
        failed(dispatched.error());
        // As unknown as it was, or free, but not kept by this lease until that runs out.
        held.stop_renewing();
        end.kind = settle_kind::release;
        co_await settle(finding, held, std::move(end));
        co_return;
      }
      found = finding_kind::not_done;
      end.kind = settle_kind::release;
      break;
    }
    case probe_answer::unclear:
      end.kind = settle_kind::abandon;
      end.why = unknown_reason::probe_inconclusive;
      end.probe_pause = probe_pause;
      break;
  }
  held.stop_renewing();
  if (co_await settle(finding, held, std::move(end))) {
    finding.what = found;
    finding.why = std::move(report.why);
  }
}

/// False: another has the word now.
asio::awaitable<bool> round::settle(finding& finding, const held_lease& held, settlement request) {
  request.id = held.id();
  request.token = held.lease().token;
  request.claim_id = held.lease().claim_id;
  request.about = finding.seen.stored.about;
  std::vector<settlement> batch(1, request);
  const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
  if (!replies[0]) {
    failed(replies[0].error());
    co_return false;
  }
  if (replies[0]->outcome != settle_outcome::stale) co_return true;
  finding.what = finding_kind::left_alone;
  finding.why = "somebody else has the word meanwhile";
  co_return false;
}

void round::refused(finding& finding, const verdict& verdict) {
  switch (verdict.kind) {
    case verdict_kind::unknown:
      finding.what = finding_kind::too_early;
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
  switch (finding.what) {
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

}  // namespace

asio::awaitable<result<void>> outcome_source::prepare() { co_return result<void>(); }

asio::awaitable<std::optional<probe_report>> outcome_source::preview(const subject&, token) {
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

}  // namespace onceguard
