// The scenes in which it is unknown whether the card was charged.
#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "cli/demo/scenes.hpp"

namespace onceguard::cli::demo {
namespace {

asio::awaitable<void> pause() {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(100));
  co_await timer.async_wait(asio::use_awaitable);
}

// Adds each change of the answer once, so that a client that polls every 100 ms stays readable.
void note_change(telling& style, const reply& got) {
  const auto words = got.in_words();
  if (style.seen.empty() || style.seen.back() != words) style.seen.push_back(words);
}

// Retries until the dead gateway's lease is over and the outcome therefore unknown.
asio::awaitable<bool> retry_until_unknown(telling& style, const gateway::endpoint& endpoint,
                                          const payment& payment) {
  for (int tries = 0; tries < 60; ++tries) {
    const auto got = co_await pay(endpoint, payment);
    note_change(style, got);
    if (got.problem() == "outcome-unknown") co_return true;
    if (got.problem() != "in-progress") co_return false;
    co_await pause();
  }
  co_return false;
}

void note_command(scene& play, const std::string& command, const command_result& result) {
  play.notes.push_back("$ onceguard " + command);
  for (std::size_t position = 0; position < result.output.size();) {
    const auto end = std::min(result.output.find('\n', position), result.output.size());
    play.notes.push_back(result.output.substr(position, end - position));
    position = end + 1;
  }
}

// An operator finds the key, checks with the shop, and completes the record with the shop's answer.
// The gateway refuses the completion while the work may still be running.
asio::awaitable<void> resolve(scene& play, const guard& limit, const std::string& key,
                              const std::string& answer) {
  std::vector<std::string> list{"keys", "list", "--state", "unknown"};
  const auto listed = co_await limit.command_beside(list);
  note_command(play, "keys list --state unknown", listed);
  play.expect(listed.exit_code == 0 && listed.output.find(key) != std::string::npos,
              "the key was not listed as unknown");
  std::vector<std::string> complete{"keys", "complete", key, "--status", "201"};
  complete.insert(complete.end(), {"--header", "Content-Type: application/json"});
  complete.insert(complete.end(), {"--body", answer});
  auto resolved = co_await limit.command_beside(complete);
  for (int tries = 0; resolved.exit_code != 0 && tries < 60; ++tries) {
    co_await pause();
    resolved = co_await limit.command_beside(complete);
  }
  note_command(play, "keys complete " + key + " --status 201 --body …", resolved);
  play.expect(resolved.exit_code == 0, "the key could not be resolved");
}

}  // namespace

asio::awaitable<scene> shop_loses_answers(shop& cards, guard& limit) {
  scene play("The shop loses one answer in three: three orders, each sent twice");
  std::size_t straight_charges = 0;
  std::size_t guarded_charges = 0;
  cards.lose_answers(true);
  for (const std::string order : {"F-1", "F-2", "F-3"}) {
    const payment straight("ada", order, 300, order);
    saw(play.unguarded, co_await pay(cards.address(), straight));
    saw(play.unguarded, co_await pay(cards.address(), straight));
    straight_charges += cards.charges(order);
  }
  play.charged(play.unguarded, straight_charges, 6);
  cards.lose_answers(true);
  for (const std::string order : {"F-4", "F-5", "F-6"}) {
    const payment guarded("ada", order, 300, order);
    const auto first = saw(play.guarded, co_await pay(limit.address(), guarded));
    const auto second = saw(play.guarded, co_await pay(limit.address(), guarded));
    guarded_charges += cards.charges(order);
    const bool lost = first.status() == 502 && first.problem() == "upstream-broken" &&
                      second.problem() == "outcome-unknown";
    const bool answered = first.status() == 201 && second.replayed();
    play.expect(order == "F-4" ? lost : answered,
                order + " got " + first.in_words() + ", then " + second.in_words());
  }
  cards.lose_answers(false);
  play.charged(play.guarded, guarded_charges, 3);
  play.notes.emplace_back("F-4 was charged, and only the shop knows: it is held, never run again,");
  play.notes.emplace_back("until somebody says what became of it, as in the next scene");
  co_return play;
}

asio::awaitable<scene> gateway_killed(shop& cards, guard& limit) {
  scene play("The guard itself is killed (SIGKILL) in the middle of a request");
  const auto executor = co_await asio::this_coro::executor;
  const payment straight("ada", "G-1", 8000, "g-1");
  line client(executor);
  play.expect(co_await client.open(cards.address()) && co_await client.send(straight),
              "the shop did not take the request");
  co_await cards.arrived("G-1", 1);
  client.hang_up();  // without a guard, the client dies in the middle
  play.unguarded.seen.emplace_back("no answer");
  saw(play.unguarded, co_await pay(cards.address(), straight));
  co_await cards.charged("G-1", 2);
  play.charged(play.unguarded, cards.charges("G-1"), 2);

  const payment guarded("ada", "G-2", 8000, "g-2");
  line caller(executor);
  play.expect(co_await caller.open(limit.address()) && co_await caller.send(guarded),
              "the gateway did not take the request");
  co_await cards.arrived("G-2", 1);
  limit.kill();
  saw(play.guarded, co_await caller.receive());
  co_await cards.charged("G-2", 1);
  co_await limit.start();
  play.expect(co_await retry_until_unknown(play.guarded, limit.address(), guarded),
              "after its restart the gateway did not hold the key as unknown");
  co_await resolve(play, limit, "g-2", cards.first_charge("G-2"));
  const auto replay = saw(play.guarded, co_await pay(limit.address(), guarded));
  play.expect(replay.status() == 201 && replay.replayed() &&
                  replay.message.body == cards.first_charge("G-2"),
              "the repeat did not get the answer that the operator gave");
  play.charged(play.guarded, cards.charges("G-2"), 1);
  co_return play;
}

}  // namespace onceguard::cli::demo
