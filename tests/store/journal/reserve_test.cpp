// The file in reserve grows with the log, which costs claims nothing.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "simulated_disk.hpp"
#include "store/contract/acts.hpp"
#include "store/journal/journal_store.hpp"

namespace onceguard::testing {
namespace {

using sim::simulated_disk;
constexpr std::uint64_t write_and_flush = 2;

class journal_reserve_test : public ::testing::Test {
 protected:
  void SetUp() override {
    journal::journal_params params;
    params.path = "simulated";
    params.clock = &clock_;
    params.segment_size = 4'096;
    params.files = [this](const std::string&) -> result<std::unique_ptr<journal::file_layer>> {
      return disk_.mount();
    };
    auto opened = journal::journal_store::open(params);
    ASSERT_TRUE(opened) << opened.error().detail;
    store_ = std::move(*opened);
    blocking_store caller(*store_);
    // Segments become larger from 64 of this size on, and with them the reserve.
    for (int i = 0; i < 1'000; ++i) caller.completed(claim_of("k" + std::to_string(i)));
  }
  /// Acts on the disk for one claim.
  std::uint64_t acts_of_claim() {
    blocking_store caller(*store_);
    const auto before = disk_.acts();
    caller.leased(claim_of("later" + std::to_string(claims_++)));
    return disk_.acts() - before;
  }
  /// If it begins no segment.
  std::uint64_t fewest_acts_of_claim() {
    auto fewest = ~std::uint64_t{0};
    for (int i = 0; i < 4; ++i) fewest = std::min(fewest, acts_of_claim());
    return fewest;
  }

  base::manual_clock clock_;
  simulated_disk disk_;
  std::unique_ptr<journal::journal_store> store_;
  int claims_ = 0;
};

TEST_F(journal_reserve_test, it_grows_with_the_segments_and_not_with_each_claim) {
  EXPECT_EQ(fewest_acts_of_claim(), write_and_flush);
}

TEST_F(journal_reserve_test, without_room_for_it_claims_do_not_try_to_make_it_larger) {
  // Until one begins a segment.
  for (auto acts = acts_of_claim(); acts <= 2 * write_and_flush;) acts = acts_of_claim();
  disk_.limit(disk_.size() + 16);  // a part of what is due now
  const auto size = disk_.size();
  EXPECT_EQ(fewest_acts_of_claim(), write_and_flush);
  EXPECT_EQ(disk_.size(), size);
}

}  // namespace
}  // namespace onceguard::testing
