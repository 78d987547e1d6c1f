#include "support/faulty_store.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard {
namespace {

using boost::asio::awaitable;

error error_of(store_fault fault) {
  switch (fault) {
    case store_fault::after:
      return error(errc::store_unreachable, "faulty store: after", effect::done);
    case store_fault::after_timeout:
    case store_fault::before_timeout:
      return error(errc::store_unreachable, "faulty store: no answer in time", effect::unknown);
    case store_fault::full:
      return error(errc::store_full, "faulty store: full");
    case store_fault::lost:
      return error(errc::store_lost, "faulty store: lost its memory");
    case store_fault::unreadable:
      return error(errc::record_unreadable, "faulty store: a damaged page");
    case store_fault::illegible:
      return error(errc::record_unreadable, "faulty store: a key is missing", effect::done);
    case store_fault::too_big:
      return error(errc::invalid_argument, "faulty store: the record is too big");
    case store_fault::before:
    case store_fault::delay_before:
    case store_fault::delay_after:
      break;
  }
  return error(errc::store_unreachable, "faulty store: before");
}

/// Is the call itself made?
bool carried_out(store_fault fault) noexcept {
  return fault == store_fault::after || fault == store_fault::after_timeout ||
         fault == store_fault::illegible || fault == store_fault::delay_before ||
         fault == store_fault::delay_after;
}

bool delayed(store_fault fault) noexcept {
  return fault == store_fault::delay_before || fault == store_fault::delay_after;
}

}  // namespace

void faulty_store::fail(store_call which, store_fault fault, std::size_t times) {
  auto& p = plans_[static_cast<std::size_t>(which)];
  p.fault = fault;
  p.times = times;
}

void faulty_store::fail_all(store_fault fault) {
  for (std::size_t i = 0; i < store_calls; ++i) fail(static_cast<store_call>(i), fault);
}

void faulty_store::heal_all() {
  for (std::size_t i = 0; i < store_calls; ++i) heal(static_cast<store_call>(i));
}

void faulty_store::let_go() {
  for (const auto& gate : gates_) gate->cancel();
}

std::size_t faulty_store::made(store_call which) const noexcept {
  return plans_[static_cast<std::size_t>(which)].made;
}

std::optional<store_fault> faulty_store::next_fault(store_call which) {
  auto& p = plans_[static_cast<std::size_t>(which)];
  ++p.made;
  if (p.times == 0) return std::nullopt;
  if (p.times != always) --p.times;
  return p.fault;
}

awaitable<void> faulty_store::wait_at_gate() {
  auto executor = co_await boost::asio::this_coro::executor;
  const auto gate =
      gates_.insert(gates_.end(), std::make_unique<boost::asio::steady_timer>(
                                      executor, boost::asio::steady_timer::time_point::max()));
  boost::system::error_code cancelled;
  auto quietly = boost::asio::redirect_error(boost::asio::use_awaitable, cancelled);
  co_await (*gate)->async_wait(quietly);
  gates_.erase(gate);
}

template <class Outcome>
awaitable<std::vector<result<Outcome>>> faulty_store::with_fault_each(
    store_call which, std::size_t size, awaitable<std::vector<result<Outcome>>> call) {
  const auto fault = next_fault(which);
  if (!fault) co_return co_await std::move(call);
  if (*fault == store_fault::delay_before) co_await wait_at_gate();
  std::vector<result<Outcome>> outcomes;
  if (carried_out(*fault)) outcomes = co_await std::move(call);
  if (*fault == store_fault::delay_after) co_await wait_at_gate();
  if (!delayed(*fault)) outcomes.assign(size, error_of(*fault));
  co_return outcomes;
}

template <class Outcome>
awaitable<result<Outcome>> faulty_store::with_fault(store_call which,
                                                    awaitable<result<Outcome>> call) {
  const auto fault = next_fault(which);
  if (!fault) co_return co_await std::move(call);
  if (*fault == store_fault::delay_before) co_await wait_at_gate();
  result<Outcome> outcome = error_of(*fault);
  if (carried_out(*fault)) {
    auto reply = co_await std::move(call);
    if (delayed(*fault)) outcome = std::move(reply);
  }
  if (*fault == store_fault::delay_after) co_await wait_at_gate();
  co_return outcome;
}

awaitable<std::vector<result<verdict>>> faulty_store::claim(std::vector<onceguard::claim> batch,
                                                            milliseconds timeout) {
  const auto size = batch.size();
  for (const auto& one : batch) repeated_ += one.repeated ? 1 : 0;
  if (busy_ != 0) {
    --busy_;
    verdict busy;
    busy.kind = verdict_kind::busy;
    co_return std::vector<result<verdict>>(size, busy);
  }
  co_return co_await with_fault_each(store_call::claim, size,
                                     inner_.claim(std::move(batch), timeout));
}

awaitable<std::vector<result<settled>>> faulty_store::settle(std::vector<settlement> batch,
                                                             milliseconds timeout) {
  const auto size = batch.size();
  return with_fault_each(store_call::settle, size, inner_.settle(std::move(batch), timeout));
}

awaitable<std::vector<result<bool>>> faulty_store::extend(std::vector<extension> batch,
                                                          milliseconds timeout) {
  const auto size = batch.size();
  return with_fault_each(store_call::extend, size, inner_.extend(std::move(batch), timeout));
}

awaitable<result<resolve_decision>> faulty_store::resolve(resolution request,
                                                          milliseconds timeout) {
  return with_fault(store_call::resolve, inner_.resolve(std::move(request), timeout));
}

awaitable<result<std::optional<record_view>>> faulty_store::find(record_id id,
                                                                 milliseconds timeout) {
  return with_fault(store_call::find, inner_.find(id, timeout));
}

awaitable<result<list_page>> faulty_store::list(list_filter filter, std::string cursor,
                                                std::size_t limit, milliseconds timeout) {
  return with_fault(store_call::list,
                    inner_.list(std::move(filter), std::move(cursor), limit, timeout));
}

awaitable<result<counts>> faulty_store::count(std::string cursor, milliseconds timeout) {
  return with_fault(store_call::count, inner_.count(std::move(cursor), timeout));
}

awaitable<result<std::size_t>> faulty_store::sweep(std::size_t limit, milliseconds timeout) {
  return with_fault(store_call::sweep, inner_.sweep(limit, timeout));
}

awaitable<result<import_outcome>> faulty_store::import_record(imported_record request,
                                                              milliseconds timeout) {
  return with_fault(store_call::import_record, inner_.import_record(std::move(request), timeout));
}

awaitable<result<onceguard::vitals>> faulty_store::vitals(milliseconds timeout) {
  auto reply = co_await with_fault(store_call::vitals, inner_.vitals(timeout));
  if (reply && pretended_) co_return *pretended_;
  co_return reply;
}

}  // namespace onceguard
