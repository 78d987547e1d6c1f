// A store under test with its clock, for the suites that run on every engine.
#pragma once
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/contract/store_delegate.hpp"

namespace onceguard::testing {

class store_fixture : public ::testing::TestWithParam<engine_under_test> {
 protected:
  void advance(milliseconds duration) { delegate_->clock.advance(duration); }
  /// Expects that a sweep removes `count` records, or none if the engine removes expired records
  /// without a sweep.
  void expect_swept(std::size_t count, std::size_t limit = 1'000) {
    EXPECT_EQ(caller_.sweep(limit), GetParam().sweeps ? count : 0u);
  }
  void reopen() {
    store_->stop();
    store_.reset();
    store_ = delegate_->open();
    caller_.move_to(*store_);
  }

  std::unique_ptr<store_delegate> delegate_ = GetParam().make();
  std::unique_ptr<store> store_ = delegate_->open();
  blocking_store caller_{*store_};
};

inline std::string engine_name(const ::testing::TestParamInfo<engine_under_test>& TestParamInfo) {
  return TestParamInfo.param.name;
}

}  // namespace onceguard::testing
