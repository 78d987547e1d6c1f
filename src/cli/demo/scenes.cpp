#include "cli/demo/scenes.hpp"

#include <algorithm>
#include <utility>

namespace onceguard::cli::demo {

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

}  // namespace onceguard::cli::demo
