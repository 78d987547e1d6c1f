#include "remote_store.hpp"

#include <optional>
#include <utility>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard::sim {
namespace {

namespace asio = boost::asio;
using asio::awaitable;

template <class Result>
struct pending_call {
  explicit pending_call(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  std::optional<Result> reply;
};

error unreachable(effect known) {
  return error(errc::store_unreachable, "the simulated store did not answer", known);
}

template <class Result>
std::function<Result(error)> one_error() {
  return [](error why) { return Result(std::move(why)); };
}

template <class Item>
std::function<std::vector<result<Item>>(error)> error_each(std::size_t count) {
  return [count](const error& why) { return std::vector<result<Item>>(count, result<Item>(why)); };
}

}  // namespace

call_kind remote_store::counted_as(of kind) noexcept {
  switch (kind) {
    case of::claim:
      return call_kind::claim;
    case of::settle:
      return call_kind::settle;
    case of::extend:
      return call_kind::extend;
    default:
      return call_kind::any;
  }
}

template <class Result>
awaitable<Result> remote_store::ask(std::function<awaitable<Result>(store&)> call,
                                    std::function<Result(error)> failed, milliseconds timeout,
                                    of kind) {
  const bool counted = kind != of::read;
  // By value: an outage may change while this call is under way.
  const auto* const met = counted ? world_.next_fault_of_call(counted_as(kind)) : nullptr;
  std::optional<disturbance_kind> fault;
  if (met != nullptr) fault = met->kind;
  if (fault == disturbance_kind::refuse_call) {
    co_return failed(unreachable(effect::none));
  }
  const auto executor = co_await asio::this_coro::executor;
  const auto waiting = std::make_shared<pending_call<Result>>(executor);
  // The process that waits may end before the reply is there.
  const std::weak_ptr<pending_call<Result>> receiver = waiting;
  std::function<void(Result)> answer = [&around = world_, &node = node_, &host = host_,
                                        receiver](Result reply) {
    around.send(host.node(), node, message_kind::store_reply, [receiver, reply] {
      const auto found = receiver.lock();
      if (!found || found->reply) return;  // it came before, on another way
      found->reply.emplace(reply);
      found->timer.cancel();
    });
  };
  if (fault) {
    const bool done = fault == disturbance_kind::fail_after;
    answer = [answer, failed, done](Result) {
      answer(failed(unreachable(done ? effect::done : effect::unknown)));
    };
  }
  const bool carried_out = !fault || fault == disturbance_kind::fail_after;
  world_.send(
      node_, host_.node(), message_kind::store_request,
      [&host = host_, call, answer, failed, carried_out] {
        if (!carried_out) return answer(failed(unreachable(effect::unknown)));
        host.carry_out<Result>(call, answer);
      },
      kind == of::claim);
  waiting->timer.expires_after(timeout);
  boost::system::error_code cancelled;
  auto quietly = asio::redirect_error(asio::use_awaitable, cancelled);
  co_await waiting->timer.async_wait(quietly);
  if (!waiting->reply) co_return failed(unreachable(effect::unknown));
  co_return std::move(*waiting->reply);
}

store_traits remote_store::traits() const { return host_.traits(); }

awaitable<std::vector<result<verdict>>> remote_store::claim(std::vector<onceguard::claim> batch,
                                                            milliseconds timeout) {
  const auto count = batch.size();
  return ask<std::vector<result<verdict>>>(
      [batch = std::move(batch), timeout](store& there) { return there.claim(batch, timeout); },
      error_each<verdict>(count), timeout, of::claim);
}

awaitable<std::vector<result<settled>>> remote_store::settle(std::vector<settlement> batch,
                                                             milliseconds timeout) {
  const auto count = batch.size();
  return ask<std::vector<result<settled>>>(
      [batch = std::move(batch), timeout](store& there) { return there.settle(batch, timeout); },
      error_each<settled>(count), timeout, of::settle);
}

awaitable<std::vector<result<bool>>> remote_store::extend(std::vector<extension> batch,
                                                          milliseconds timeout) {
  auto call = ask<std::vector<result<bool>>>(
      [batch, timeout](store& there) { return there.extend(batch, timeout); },
      error_each<bool>(batch.size()), timeout, of::extend);
  auto replies = co_await std::move(call);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!with_holders_ || !replies[i] || *replies[i]) continue;
    world_.events().add({.time = world_.now(),
                         .kind = event_kind::lease_lost,
                         .machine = static_cast<std::uint8_t>(node_.index),
                         .key = host_.names().number_of(batch[i].id),
                         .number = batch[i].token});
  }
  co_return replies;
}

awaitable<result<resolve_decision>> remote_store::resolve(resolution request,
                                                          milliseconds timeout) {
  return ask<result<resolve_decision>>(
      [request = std::move(request), timeout](store& there) {
        return there.resolve(request, timeout);
      },
      one_error<result<resolve_decision>>(), timeout, of::act);
}

awaitable<result<std::optional<record_view>>> remote_store::find(record_id id,
                                                                 milliseconds timeout) {
  return ask<result<std::optional<record_view>>>(
      [id, timeout](store& there) { return there.find(id, timeout); },
      one_error<result<std::optional<record_view>>>(), timeout, of::act);
}

awaitable<result<list_page>> remote_store::list(list_filter filter, std::string cursor,
                                                std::size_t limit, milliseconds timeout) {
  return ask<result<list_page>>(
      [filter = std::move(filter), cursor = std::move(cursor), limit, timeout](store& there) {
        return there.list(filter, cursor, limit, timeout);
      },
      one_error<result<list_page>>(), timeout, of::read);
}

awaitable<result<counts>> remote_store::count(std::string cursor, milliseconds timeout) {
  return ask<result<counts>>(
      [cursor = std::move(cursor), timeout](store& there) { return there.count(cursor, timeout); },
      one_error<result<counts>>(), timeout, of::read);
}

awaitable<result<import_outcome>> remote_store::import_record(imported_record request,
                                                              milliseconds timeout) {
  return ask<result<import_outcome>>(
      [request = std::move(request), timeout](store& there) {
        return there.import_record(request, timeout);
      },
      one_error<result<import_outcome>>(), timeout, of::act);
}

awaitable<result<std::size_t>> remote_store::sweep(std::size_t limit, milliseconds timeout) {
  return ask<result<std::size_t>>(
      [limit, timeout](store& there) { return there.sweep(limit, timeout); },
      one_error<result<std::size_t>>(), timeout, of::read);
}

awaitable<result<onceguard::vitals>> remote_store::vitals(milliseconds timeout) {
  return ask<result<onceguard::vitals>>([timeout](store& there) { return there.vitals(timeout); },
                                        one_error<result<onceguard::vitals>>(), timeout, of::read);
}

awaitable<result<epoch_reading>> remote_store::read_epoch(std::string accelerator,
                                                          milliseconds timeout) {
  return ask<result<epoch_reading>>(
      [&host = host_, accelerator = std::move(accelerator), timeout](store&) {
        return host.metadata().read_epoch(accelerator, timeout);
      },
      one_error<result<epoch_reading>>(), timeout, of::read);
}

awaitable<result<bool>> remote_store::note(accelerator_state found, std::string distrusted,
                                           milliseconds timeout) {
  return ask<result<bool>>(
      [&host = host_, found = std::move(found), distrusted = std::move(distrusted),
       timeout](store&) { return host.metadata().note(found, distrusted, timeout); },
      one_error<result<bool>>(), timeout, of::act);
}

void remote_store::on_settled(settled_listener listener) {
  host_.forget_listener(this);
  if (listener) host_.listen(this, node_, std::move(listener));
}

void remote_store::stop() {}

}  // namespace onceguard::sim
