#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/rethrow.hpp"
#include "demo/report.hpp"
#include "demo/traffic.hpp"

namespace onceguard::demo {
namespace {

// The objects of one run. The destructors end the children and remove the folder.
struct stage {
  stage(asio::io_context& context, bool page)
      : cards(context), limit(context.get_executor(), cards.address(), page) {}
  shop cards;
  guard limit;
  bool right = true;
};

using played_scene = asio::awaitable<scene> (*)(shop&, guard&);
constexpr played_scene programme[] = {lost_answer,   fifty_at_once, another_amount,
                                      two_customers, shop_down,     shop_loses_answers,
                                      gateway_killed};

asio::awaitable<void> play_all(stage& stage, report& report) {
  co_await stage.limit.start();
  report.begin(stage.cards, stage.limit);
  for (const auto next : programme) {
    const auto played = co_await next(stage.cards, stage.limit);
    stage.right = stage.right && played.right();
    report.add(played);
  }
  const auto cost = co_await measure_overhead(stage.cards, stage.limit);
  report.add(cost);
}

void print_what_runs(const stage& stage) {
  std::cerr << "\nShop and gateway run on until Ctrl-C. Pay twice, with one key:\n"
            << "   curl -i http://" << text_of(stage.limit.address()) << "/charges "
            << "-H 'Idempotency-Key: \"order-1\"' -H 'Authorization: Bearer ada' "
            << "-H 'Content-Type: application/json' -d '{\"order\":\"1\",\"amount\":4200}'\n"
            << "   onceguard keys list --store " << stage.limit.store_url() << "\n"
            << "The page, where customers go on paying:\n   http://" << stage.limit.admin_address()
            << "/\n   onceguard tail --admin " << stage.limit.admin_address() << "\n";
}

}  // namespace

int play(report& report, bool keep) {
  asio::io_context context(1);
  asio::signal_set signals(context, SIGINT, SIGTERM);
  asio::steady_timer limit(context, std::chrono::seconds(60));
  std::optional<std::string> fault = "it was stopped";
  bool ended = false;
  stage stage(context, keep);
  signals.async_wait([&](auto, int) { context.stop(); });
  limit.async_wait([&](auto failed) {
    if (failed) return;
    fault = "it took longer than a minute";
    context.stop();
  });
  asio::co_spawn(context, play_all(stage, report), [&](const std::exception_ptr& thrown) {
    limit.cancel();
    fault.reset();
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      fault = error.what();
    }
    ended = true;
    report.end(!fault && stage.right, fault);
    if (!keep || fault) return context.stop();
    print_what_runs(stage);
    asio::co_spawn(context, pay_for_ever(stage.cards, stage.limit), base::rethrow);
  });
  context.run();
  if (!ended) report.end(false, fault);
  return !fault && stage.right ? 0 : 1;
}

}  // namespace onceguard::demo
