// A journal of small segments that is opened again and again.
#pragma once
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/journal/files.hpp"
#include "store/journal/journal_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class reopened_journal : public ::testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("journal"); }
  result<std::unique_ptr<journal::journal_store>> try_open() {
    journal::journal_params params;
    params.path = path();
    params.clock = &clock_;
    params.segment_size = 4'096;
    params.cache_size = 0;
    return journal::journal_store::open(params);
  }
  blocking_store& reopen() {
    store_.reset();
    auto opened = try_open();
    if (!opened) throw std::runtime_error(opened.error().detail);
    store_ = std::move(*opened);
    caller_.emplace(*store_);
    return *caller_;
  }
  void close() {
    caller_.reset();
    store_.reset();
  }
  /// Completes so many keys, one group each, and closes the journal.
  void fill(int keys) {
    auto& caller = reopen();
    for (int i = 0; i < keys; ++i) caller.completed(claim_of("k" + std::to_string(i)));
    close();
  }
  void expect_lost(const std::string& segment, std::uint64_t offset) {
    const auto opened = try_open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, errc::store_lost);
    EXPECT_THAT(opened.error().detail,
                ::testing::AllOf(::testing::HasSubstr(segment),
                                 ::testing::HasSubstr("byte " + std::to_string(offset))));
  }

  temporary_folder folder_;
  base::manual_clock clock_;
  const journal_files files_{folder_.file("journal")};
  std::unique_ptr<journal::journal_store> store_;
  std::optional<blocking_store> caller_;
};

}  // namespace onceguard::testing
