#include <set>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <onceguard/byte_budget.hpp>

#include "base/field.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/random.hpp"
#include "base/timer_wheel.hpp"
#include "base/value_text.hpp"

namespace onceguard::base {
namespace {

TEST(shown_ids, are_cut_beyond_the_length_of_a_key) {
  const std::string longest(255, 'k');
  EXPECT_EQ(shown_id(longest), longest);
  EXPECT_EQ(shown_id(longest + 'k'), std::string(64, 'k') + "… (256 bytes)");
  std::string text = "x";
  for (int i = 0; i < 200; ++i) text += "é";
  std::string cut = "x";
  for (int i = 0; i < 31; ++i) cut += "é";
  EXPECT_EQ(shown_id(text), cut + "… (401 bytes)");
}

TEST(hashing, is_sha_256) {
  EXPECT_EQ(to_hex(sha256_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(hashing, is_the_same_however_the_bytes_come) {
  // About the size up to which small parts are kept together, and beyond it.
  for (const std::size_t size : {0U, 1U, 511U, 512U, 513U, 1'024U, 5'000U}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
    const auto whole = sha256_of(bytes);
    for (const std::size_t step : {1U, 7U, 500U, 512U, 600U}) {
      sha256 pieces;
      for (std::size_t position = 0; position < size; position += step) {
        pieces.raw(std::string_view(bytes).substr(position, step));
      }
      EXPECT_EQ(pieces.finish(), whole) << size << " bytes, " << step << " at a time";
    }
  }
}

TEST(hashing, parts_are_reported_apart_by_their_lengths) {
  const auto one = sha256().part("ab").part("c").finish();
  const auto other = sha256().part("a").part("bc").finish();
  EXPECT_NE(one, other);
}

TEST(hashing, hex_goes_both_ways_and_refuses_the_rest) {
  std::array<unsigned char, 3> out{};
  EXPECT_TRUE(from_hex("00fFa7", out));
  EXPECT_EQ(to_hex(out), "00ffa7");
  std::string more = "id ";
  append_hex(more, out);
  EXPECT_EQ(more, "id 00ffa7");
  EXPECT_FALSE(from_hex("00ff", out));
  EXPECT_FALSE(from_hex("00ffg0", out));
}

TEST(hashing, random_bytes_do_not_repeat) {
  std::set<std::array<unsigned char, 16>> seen;
  for (int i = 0; i < 1'000; ++i) {
    std::array<unsigned char, 16> id{};
    random_bytes(id);
    EXPECT_TRUE(seen.insert(id).second);
  }
}

TEST(fields, lists_are_split_at_commas) {
  std::string seen;
  each_list_element(" a ,,b\t, c", [&](std::string_view one) { seen.append(one).append("|"); });
  EXPECT_EQ(seen, "a|b|c|");
}

TEST(budget, is_never_exceeded_and_given_back) {
  byte_budget budget(100);
  byte_reservation one(budget);
  EXPECT_TRUE(one.grow_to(100));  // the limit itself passes
  EXPECT_TRUE(one.grow_to(50));   // never less
  byte_reservation two(budget);
  EXPECT_FALSE(two.grow_to(1));
  byte_reservation moved = std::move(one);
  EXPECT_EQ(budget.used(), 100u);
  moved.clear();
  EXPECT_TRUE(two.grow_to(60));
  EXPECT_FALSE(two.grow_to(static_cast<std::size_t>(-1)));
  EXPECT_EQ(two.bytes(), 60u);
  EXPECT_TRUE(two.grow_to(100));
}

TEST(budget, what_is_left_for_others_stays_free) {
  byte_budget budget(100);
  byte_reservation one(budget);
  EXPECT_FALSE(one.grow_to(51, 50));
  EXPECT_TRUE(one.grow_to(50, 50));
  EXPECT_EQ(budget.used(), 50u);
  byte_reservation two(budget);
  EXPECT_FALSE(two.grow_to(1, 50));
  EXPECT_FALSE(two.grow_to(0 + 1, 101));
  EXPECT_FALSE(two.grow_to(1, static_cast<std::size_t>(-1)));
  EXPECT_TRUE(two.grow_to(10, 40));
  EXPECT_EQ(budget.used(), 60u);
}

TEST(budget, what_is_there_in_any_case_keeps_others_out) {
  byte_budget budget(100);
  byte_reservation one(budget);
  one.set(150);
  EXPECT_EQ(budget.used(), 150u);
  byte_reservation two(budget);
  EXPECT_FALSE(two.grow_to(1));
  one.set(90);
  EXPECT_EQ(budget.used(), 90u);
  EXPECT_TRUE(two.grow_to(10));
  byte_reservation of_none;
  of_none.set(10);
  EXPECT_EQ(of_none.bytes(), 0u);
  EXPECT_FALSE(of_none.grow_to(1));
}

struct noted final : deadline {
  explicit noted(std::vector<int>& items, int name) : items_(items), name_(name) {}
  void expired() override {
    items_.push_back(name_);
    if (then) then();
  }
  std::function<void()> then;
  std::vector<int>& items_;
  int name_;
};

TEST(deadlines, pass_in_their_order_and_never_early) {
  boost::asio::io_context io;
  auto& wheel = timer_wheel::of(io);
  std::vector<int> passed;
  noted late(passed, 2);
  noted soon(passed, 1);
  const std::vector<int> wanted{1, 2};
  // A busy machine may arm the second one later than the first one passes.
  for (int attempt = 0; attempt < 9 && passed != wanted; ++attempt) {
    passed.clear();
    const auto begun = std::chrono::steady_clock::now();
    late.arm(wheel, std::chrono::milliseconds(80));
    soon.arm(wheel, std::chrono::milliseconds(20));
    io.restart();
    io.run();
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(80));
  }
  EXPECT_EQ(passed, wanted);
}

TEST(deadlines, that_are_disarmed_or_gone_do_not_pass) {
  boost::asio::io_context io;
  auto& wheel = timer_wheel::of(io);
  std::vector<int> passed;
  noted kept(passed, 1);
  noted disarmed(passed, 2);
  {
    noted gone(passed, 3);
    gone.arm(wheel, std::chrono::milliseconds(1));
  }
  disarmed.arm(wheel, std::chrono::milliseconds(1));
  kept.arm(wheel, std::chrono::milliseconds(30));
  disarmed.disarm();
  io.run();
  EXPECT_EQ(passed, (std::vector<int>{1}));
}

TEST(deadlines, may_be_armed_and_disarmed_while_others_pass) {
  boost::asio::io_context io;
  auto& wheel = timer_wheel::of(io);
  std::vector<int> passed;
  noted first(passed, 1);
  noted second(passed, 2);
  noted third(passed, 3);
  first.then = [&] {
    second.disarm();
    third.disarm();
    third.arm(wheel, std::chrono::milliseconds(10));
  };
  const std::vector<int> wanted{1, 3};
  // The latest that was armed stands first in its slot, if all three are armed in one tick.
  for (int attempt = 0; attempt < 9 && passed != wanted; ++attempt) {
    passed.clear();
    third.arm(wheel, std::chrono::milliseconds(15));
    second.arm(wheel, std::chrono::milliseconds(15));
    first.arm(wheel, std::chrono::milliseconds(15));
    io.restart();
    io.run();
  }
  EXPECT_EQ(passed, wanted);
}

TEST(deadlines, longer_than_a_turn_of_the_wheel_wait_their_turns) {
  boost::asio::io_context io;
  auto& wheel = timer_wheel::of(io);
  std::vector<int> passed;
  noted far(passed, 1);
  // 512 slots of 10 ms: the same slot as one that is due in 40 ms.
  far.arm(wheel, std::chrono::milliseconds(40 + 5'120));
  noted near(passed, 2);
  near.arm(wheel, std::chrono::milliseconds(40));
  near.then = [&] { far.disarm(); };
  io.run();
  EXPECT_EQ(passed, (std::vector<int>{2}));
}

}  // namespace
}  // namespace onceguard::base
