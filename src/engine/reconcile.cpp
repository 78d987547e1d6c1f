#include "engine/reconcile.hpp"

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
milliseconds too_early_for(const record_view& seen, const inquiry& how) {
  const auto& r = seen.stored;
  // After an answer the work is over, whatever it was.
  if (r.why == unknown_reason::upstream_status && !r.earlier_unknown) return milliseconds(0);
  return std::max(how.quiet + seen.lease_left, milliseconds(0));
}

class round {
 public:
  round(asio::io_context& io, store& records, const reconcile_params& params,
        const inquiry_chooser& choose, const finding_listener& told)
      : io_(io), store_(records), params_(params), choose_(choose), told_(told) {}

  asio::awaitable<result<reconcile_counts>> run();

 private:
  asio::awaitable<void> work_off();
  asio::awaitable<void> look_at_each();
  asio::awaitable<void> look_at(finding& of);
  asio::awaitable<void> ask_now(finding& of, const inquiry& how);
  asio::awaitable<void> preview(finding& of, const inquiry& how);
  asio::awaitable<void> conclude(finding& of, const inquiry& how, held_lease& held,
                                 probe_report said);
  asio::awaitable<bool> settle(finding& of, const held_lease& held, settlement how);
  void refused(finding& of, const verdict& by);
  void failed(const error& why);
  void count(const finding& of);

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
    finding of;
    of.seen = std::move(waiting_.front());
    waiting_.pop_front();
    co_await look_at(of);
    if (failure_) co_return;
    count(of);
    told_(of);
  }
}

asio::awaitable<void> round::look_at(finding& of) {
  of.preview = params_.dry_run;
  const auto how = choose_(*of.seen.stored.about);
  if (how.source == nullptr) {
    of.what = finding_kind::still_unknown;
    of.why = "there is no query, and its route has no probe";
    co_return;
  }
  of.means = how.source->name();
  if (const auto left = too_early_for(of.seen, how); left.count() > 0) {
    of.what = finding_kind::too_early;
    of.retry_after = left;
    of.why = "the first attempt may still be under way";
    co_return;
  }
  if (params_.dry_run) {
    co_await preview(of, how);
  } else {
    co_await ask_now(of, how);
  }
}

asio::awaitable<void> round::preview(finding& of, const inquiry& how) {
  const auto said = co_await how.source->preview(*of.seen.stored.about, of.seen.stored.token);
  of.what = finding_kind::still_unknown;
  if (!said) {
    of.why = "would be asked";
    co_return;
  }
  of.why = said->why;
  if (said->said == probe_answer::did) of.what = finding_kind::done;
  if (said->said == probe_answer::did_not) of.what = finding_kind::not_done;
}

asio::awaitable<void> round::ask_now(finding& of, const inquiry& how) {
  const auto& r = of.seen.stored;
  claim asked;
  asked.id = of.seen.id;
  base::random_bytes(asked.claim_id);
  asked.about = r.about;
  asked.lease = lease;
  asked.unknown = unknown_policy::probe;
  asked.probe_after = how.probe_after;
  asked.unknown_retention = milliseconds(r.unknown_retention_ms);
  // Should the key be free by now, what this claim gets is given back; and should it come to
  // nothing meanwhile, nobody has to wonder whether it ran.
  asked.into_started = true;
  const auto before = base::boot_now();
  std::vector<claim> batch(1, asked);
  const auto replies = co_await store_.claim(std::move(batch), params_.store_timeout);
  if (!replies[0]) co_return failed(replies[0].error());
  const auto& got = *replies[0];
  if (got.kind != verdict_kind::run) co_return refused(of, got);

  const auto held = std::make_shared<held_lease>(io_, store_, asked.id, got.lease, lease,
                                                 params_.store_timeout, before);
  // Another attempt in between would be one that nobody has waited for.
  if (!got.lease.probe || got.lease.attempt != r.attempt + 1) {
    settlement back;
    back.kind = got.lease.probe ? settle_kind::abandon : settle_kind::release;
    co_await settle(of, *held, std::move(back));
    of.why = "somebody else had it meanwhile";
    co_return;
  }
  of.fenced_with = got.lease.token;
  held->keep_renewing();
  auto said = co_await how.source->ask(*r.about, *held);
  co_await conclude(of, how, *held, std::move(said));
}

asio::awaitable<void> round::conclude(finding& of, const inquiry& how, held_lease& held,
                                      probe_report said) {
  settlement end;
  end.retention = how.retention;
  auto found = finding_kind::still_unknown;
  switch (said.said) {
    case probe_answer::did:
      found = finding_kind::done;
      end.kind = settle_kind::complete;
      end.answer = said.answer;
      end.kept = said.answer ? answer_kept::full : answer_kept::none;
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
        co_await settle(of, held, std::move(end));
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
  if (co_await settle(of, held, std::move(end))) {
    of.what = found;
    of.why = std::move(said.why);
  }
}

/// False: another has the word now.
asio::awaitable<bool> round::settle(finding& of, const held_lease& held, settlement how) {
  how.id = held.id();
  how.token = held.lease().token;
  how.claim_id = held.lease().claim_id;
  how.about = of.seen.stored.about;
  std::vector<settlement> batch(1, how);
  const auto replies = co_await store_.settle(std::move(batch), params_.store_timeout);
  if (!replies[0]) {
    failed(replies[0].error());
    co_return false;
  }
  if (replies[0]->outcome != settle_outcome::stale) co_return true;
  of.what = finding_kind::left_alone;
  of.why = "somebody else has the word meanwhile";
  co_return false;
}

void round::refused(finding& of, const verdict& by) {
  switch (by.kind) {
    case verdict_kind::unknown:
      of.what = finding_kind::too_early;
      of.retry_after = by.retry_after;
      of.why = "the first attempt may still be under way, or it was asked just now";
      break;
    case verdict_kind::busy:
      of.why = "somebody else has it now";
      break;
    default:
      of.why = "it is unknown no more";
      break;
  }
}

void round::failed(const error& why) {
  if (!failure_) failure_ = why;
}

void round::count(const finding& of) {
  switch (of.what) {
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
                                                    finding_listener told) {
  round one(io, records, params, choose, told);
  co_return co_await one.run();
}

}  // namespace onceguard
