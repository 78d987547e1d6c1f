// What `onceguard messages` does to a queue, the same for every broker: it looks, and what it does
// not remove lies there again.
#include <algorithm>

#include "consume/dead_letter_box.hpp"
#include "messaging/contract/consumer_fixture.hpp"

namespace onceguard::testing {
namespace {

using consume::dead_letter;
using consume::dead_letter_box;

class dead_letter_box_contract : public consumer_fixture {
 protected:
  dead_letter_box_contract() {
    params_.subscriber = "billing";
    params_.dead_letter_queue = queue_.consumer_url;
  }

  [[nodiscard]] dead_letter_box open() const {
    auto out = dead_letter_box::open(params_, 100);
    if (!out) throw std::runtime_error("open: " + out.error().detail);
    return std::move(*out);
  }
  /// The letters, by their keys.
  static std::vector<dead_letter> read(dead_letter_box& box) {
    auto out = box.read(500ms);
    if (!out) throw std::runtime_error("read: " + out.error().detail);
    std::sort(out->begin(), out->end(), [](const auto& a, const auto& b) { return a.key < b.key; });
    return std::move(*out);
  }
  static std::string keys_of(const std::vector<dead_letter>& letters) {
    std::string out;
    for (const auto& one : letters) out += one.key + ' ';
    return out;
  }

  consume::consume_params params_;
};

TEST_P(dead_letter_box_contract,
       what_was_looked_at_lies_there_again_and_what_was_removed_does_not) {
  publish_numbers(3);
  for (int round = 0; round < 3; ++round) {
    auto box = open();
    EXPECT_EQ(keys_of(read(box)), "0 1 2 ");
    EXPECT_TRUE(box.put_back().has_value());
  }
  {
    auto box = open();
    const auto letters = read(box);
    ASSERT_EQ(letters.size(), 3u);
    EXPECT_TRUE(box.remove(letters[0].tag).has_value());
    EXPECT_TRUE(box.put_back().has_value());
  }
  auto box = open();
  EXPECT_EQ(keys_of(read(box)), "1 2 ");
}

TEST_P(dead_letter_box_contract, a_letter_says_what_it_is_and_is_otherwise_as_it_was_sent) {
  auto sent = text("x", "m1");
  sent.headers = {{"trace", "abc"},
                  {messaging::reason_header, "because"},
                  {messaging::outcome_header, "unknown"},
                  {messaging::subscriber_header, "billing"},
                  {messaging::key_header, "the-key"},
                  {messaging::since_header, "2026-01-31T12:00:00.250Z"}};
  auto other = sent;
  other.headers[3].second = "another";
  other.properties[0].second = "m2";
  publish({other, sent});
  auto box = open();
  const auto letters = read(box);
  ASSERT_EQ(letters.size(), 1u) << "not those of another subscriber";
  EXPECT_EQ(letters[0].key, "the-key");
  EXPECT_EQ(letters[0].reason, "because");
  EXPECT_EQ(letters[0].outcome, "unknown");
  EXPECT_EQ(letters[0].since, 1'769'860'800'250);
  EXPECT_EQ(letters[0].content.headers, (std::vector<messaging::attribute>{{"trace", "abc"}}));
  EXPECT_TRUE(box.put_back().has_value());
}

TEST_P(dead_letter_box_contract, what_is_held_for_long_stays_held) {
  if (GetParam().hold.count() == 0) return;  // held as long as the connection
  const auto stay = [&] {
    queue_ = server().make_queue();
    params_.dead_letter_queue = queue_.consumer_url;
    publish_numbers(2);
    auto box = open();
    auto held_since = base::boot_now();  // or later
    // The only excuse: a busy machine may be too late for a hold.
    const auto late = [&] {
      EXPECT_GE(base::boot_now() - held_since, GetParam().hold) << "they were held";
      return false;
    };
    const auto letters = read(box);
    if (letters.size() != 2) return late();
    const auto until = base::boot_now() + 2 * GetParam().hold;
    const auto other = connect_other();
    while (base::boot_now() < until) {
      const auto now = base::boot_now();
      box.hold();
      held_since = now;
      if (!take(*other, 1, short_wait).empty()) return late();
    }
    const bool removed = std::all_of(letters.begin(), letters.end(), [&](const auto& one) {
      return box.remove(one.tag).has_value();
    });
    return removed || late();
  };
  EXPECT_TRUE(stay() || stay() || stay());
}

INSTANTIATE_TEST_SUITE_P(brokers, dead_letter_box_contract, ::testing::ValuesIn(tested_brokers()),
                         [](const auto& broker) { return broker.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(dead_letter_box_contract);

}  // namespace
}  // namespace onceguard::testing
