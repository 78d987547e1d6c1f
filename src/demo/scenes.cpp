#include "demo/scenes.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace onceguard::demo {

void scene::charged(telling& style, std::size_t count_by_text, std::size_t expected) {
  style.charges = count_by_text;
  style.charges_expected = expected;
  expect(count_by_text == expected, "the shop counted " + std::to_string(count_by_text) +
                                        " charges " + (&style == &guarded ? "with" : "without") +
                                        " Onceguard, not " + std::to_string(expected));
}

reply saw(telling& style, reply got) {
  style.seen.push_back(got.in_words());
  return got;
}

std::vector<std::string> count_by_text(const std::vector<reply>& replies) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const auto& got : replies) {
    auto words = got.in_words();
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& entry) { return entry.first == words; });
    if (known == counts.end()) {
      counts.emplace_back(std::move(words), 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> out;
  out.reserve(counts.size());
  for (const auto& [words, count] : counts) out.push_back(std::to_string(count) + " × " + words);
  return out;
}

namespace {

constexpr auto usual_delay = std::chrono::milliseconds(30);

}  // namespace

asio::awaitable<scene> lost_answer(shop& cards, guard& limit) {
  scene play("An answer is lost, and the client retries three times");
  cards.lose_answers(true);
  const payment straight("ada", "A-17", 4200, "a-17");
  for (int i = 0; i < 4; ++i) saw(play.unguarded, co_await pay(cards.address(), straight));
  cards.lose_answers(false);
  play.charged(play.unguarded, cards.charges("A-17"), 4);

  const payment guarded("ada", "A-18", 4200, "a-18");
  saw(play.guarded, co_await pay_and_lose_answer(limit.address(), guarded));
  for (int i = 0; i < 3; ++i) {
    const auto got = saw(play.guarded, co_await pay(limit.address(), guarded));
    play.expect(got.status() == 201 && got.replayed(), "the retry was not a replay");
    play.expect(got.message.body == cards.first_charge("A-18"),
                "the replay differs from the first answer");
  }
  play.charged(play.guarded, cards.charges("A-18"), 1);
  co_return play;
}

asio::awaitable<scene> fifty_at_once(shop& cards, guard& limit) {
  constexpr std::size_t crowd = 50;
  scene play("50 identical POSTs at once");
  cards.take(std::chrono::milliseconds(400));  // slow, so that the other requests arrive while the
                                               // first one runs
  const payment straight("ada", "B-1", 990, "b-1");
  play.unguarded.seen = count_by_text(co_await pay_at_once(cards.address(), straight, crowd));
  play.charged(play.unguarded, cards.charges("B-1"), crowd);

  const payment guarded("ada", "B-2", 990, "b-2");
  const auto replies = co_await pay_at_once(limit.address(), guarded, crowd);
  cards.take(usual_delay);
  play.guarded.seen = count_by_text(replies);
  std::size_t first = 0;
  std::string pause;
  for (const auto& got : replies) {
    first += got.status() == 201 && !got.replayed() ? 1 : 0;
    const bool refused = got.status() == 409 && got.problem() == "in-progress";
    if (refused) pause = got.message.header("Retry-After");
    play.expect(got.status() == 201 || (refused && !pause.empty()),
                "one of the crowd got " + got.in_words());
  }
  play.expect(first == 1, std::to_string(first) + " of the crowd got a first answer");
  play.guarded.seen.push_back("Retry-After: " + pause);
  const auto later = saw(play.guarded, co_await pay(limit.address(), guarded));
  play.expect(later.replayed() && later.message.body == cards.first_charge("B-2"),
              "the repeat afterwards was not the first answer");
  play.charged(play.guarded, cards.charges("B-2"), 1);
  co_return play;
}

asio::awaitable<scene> another_amount(shop& cards, guard& limit) {
  scene play("The same key again, with another amount");
  const payment straight("ada", "C-1", 1000, "c-1");
  const payment changed_straight("ada", "C-1", 9000, "c-1");
  saw(play.unguarded, co_await pay(cards.address(), straight));
  saw(play.unguarded, co_await pay(cards.address(), changed_straight));
  play.charged(play.unguarded, cards.charges("C-1"), 2);

  const payment guarded("ada", "C-2", 1000, "c-2");
  const payment changed("ada", "C-2", 9000, "c-2");
  const auto first = saw(play.guarded, co_await pay(limit.address(), guarded));
  const auto second = saw(play.guarded, co_await pay(limit.address(), changed));
  play.expect(first.status() == 201, "the first was not answered by the shop");
  play.expect(second.status() == 422 && second.problem() == "key-reused",
              "another amount under the same key was not refused");
  play.charged(play.guarded, cards.charges("C-2"), 1);
  co_return play;
}

asio::awaitable<scene> two_customers(shop& cards, guard& limit) {
  scene play("Two customers happen to use the same key");
  const payment ada_straight("ada", "D-1", 500, "same-key");
  const payment bob_straight("bob", "D-1", 500, "same-key");
  saw(play.unguarded, co_await pay(cards.address(), ada_straight));
  saw(play.unguarded, co_await pay(cards.address(), bob_straight));
  play.charged(play.unguarded, cards.charges("D-1"), 2);

  const payment ada("ada", "D-2", 500, "same-key");
  const payment bob("bob", "D-2", 500, "same-key");
  const auto to_ada = saw(play.guarded, co_await pay(limit.address(), ada));
  const auto to_bob = saw(play.guarded, co_await pay(limit.address(), bob));
  const auto ada_again = saw(play.guarded, co_await pay(limit.address(), ada));
  const auto bob_again = saw(play.guarded, co_await pay(limit.address(), bob));
  play.expect(!to_ada.replayed() && !to_bob.replayed(), "one got the other's answer");
  play.expect(to_ada.message.body != to_bob.message.body, "both got the same charge");
  play.expect(ada_again.replayed() && ada_again.message.body == to_ada.message.body &&
                  bob_again.replayed() && bob_again.message.body == to_bob.message.body,
              "a repeat was not the customer's own first answer");
  play.charged(play.guarded, cards.charges("D-2"), 2);
  co_return play;
}

asio::awaitable<scene> shop_down(shop& cards, guard& limit) {
  scene play("The shop is down for a moment, then the client retries");
  const payment straight("ada", "E-1", 700, "e-1");
  const payment guarded("ada", "E-2", 700, "e-2");
  cards.close();
  saw(play.unguarded, co_await pay(cards.address(), straight));
  const auto refused = saw(play.guarded, co_await pay(limit.address(), guarded));
  cards.open();
  saw(play.unguarded, co_await pay(cards.address(), straight));
  play.charged(play.unguarded, cards.charges("E-1"), 1);

  play.expect(refused.status() == 502 && refused.problem() == "upstream-unreachable",
              "a shop that is down was not told as such");
  const auto retried = saw(play.guarded, co_await pay(limit.address(), guarded));
  play.expect(retried.status() == 201 && !retried.replayed(), "the retry did not run");
  const auto again = saw(play.guarded, co_await pay(limit.address(), guarded));
  play.expect(again.replayed() && again.message.body == retried.message.body,
              "the repeat was not the first answer");
  play.charged(play.guarded, cards.charges("E-2"), 1);
  co_return play;
}

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
asio::awaitable<bool> retry_until_unknown(telling& style, const base::endpoint& endpoint,
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
  // What a person at a terminal would not see stands in a file here.
  complete.insert(complete.end(), {"--audit-log", limit.audit_file()});
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
  shop_connection client(executor);
  play.expect(co_await client.open(cards.address()) && co_await client.send(straight),
              "the shop did not take the request");
  static_cast<void>(co_await cards.arrived("G-1", 1));
  client.hang_up();  // without a guard, the client dies in the middle
  play.unguarded.seen.emplace_back("no answer");
  saw(play.unguarded, co_await pay(cards.address(), straight));
  co_await cards.charged("G-1", 2);
  play.charged(play.unguarded, cards.charges("G-1"), 2);

  const payment guarded("ada", "G-2", 8000, "g-2");
  shop_connection caller(executor);
  const bool opened = co_await caller.open(limit.address());
  const bool sent = opened && co_await caller.send(guarded);
  const bool passed_on = sent && co_await cards.arrived("G-2", 1);
  play.expect(passed_on, "the gateway did not take the request");
  if (!passed_on) co_return play;
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

namespace {

constexpr int rounds = 51;
constexpr int warm_up = 5;  // fills connections, caches and the store's first pages

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The median over one kept-alive connection. Each request has a new key, or all have the same key.
asio::awaitable<double> measure(base::endpoint endpoint, std::string key, bool new_keys) {
  shop_connection client(co_await asio::this_coro::executor);
  if (!co_await client.open(endpoint))
    throw std::runtime_error("nobody listens at " + text_of(endpoint));
  std::vector<double> taken;
  for (int i = 0; i < warm_up + rounds; ++i) {
    const payment payment("ada", "H-1", 100, new_keys ? key + std::to_string(i) : key);
    const auto begin = std::chrono::steady_clock::now();
    const bool sent = co_await client.send(payment);
    const auto got = co_await client.receive();
    const std::chrono::duration<double, std::milli> passed =
        std::chrono::steady_clock::now() - begin;
    if (!sent || got.status() != 201) throw std::runtime_error("measured " + got.in_words());
    if (i >= warm_up) taken.push_back(passed.count());
  }
  co_return median(std::move(taken));
}

}  // namespace

asio::awaitable<overhead> measure_overhead(shop& cards, guard& limit) {
  cards.take(std::chrono::milliseconds(0));
  overhead found;
  found.straight = co_await measure(cards.address(), "straight-", true);
  found.first = co_await measure(limit.address(), "first-", true);
  found.repeat = co_await measure(limit.address(), "repeat", false);
  cards.take(std::chrono::milliseconds(30));
  co_return found;
}

}  // namespace onceguard::demo
