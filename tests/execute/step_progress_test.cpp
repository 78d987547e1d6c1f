// What a record keeps of an operation in steps.
#include "execute/step_progress.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace onceguard {
namespace {

answer_ptr declined() {
  return std::make_shared<const answer>(answer{402, {{"A", "b"}}, "declined"});
}

TEST(step_progress, what_is_kept_is_read_again) {
  step_progress kept;
  kept.done = {{"one", ""}, {"", std::string("\0\xff", 2)}, {"three", "x"}};
  const auto forward = decode_progress(encode_progress(kept));
  EXPECT_EQ(forward->done, kept.done);
  EXPECT_EQ(forward->failure, nullptr);
  kept.failure = declined();
  kept.compensated = 2;
  const auto back = decode_progress(encode_progress(kept));
  EXPECT_EQ(back->done, kept.done);
  EXPECT_EQ(*back->failure, *kept.failure);
  EXPECT_EQ(back->compensated, 2u);
  EXPECT_TRUE(decode_progress("")->done.empty());
  EXPECT_TRUE(decode_progress(encode_progress({}))->done.empty());
}

TEST(step_progress, bytes_are_those_of_the_documentation) {
  step_progress kept;
  kept.done = {{"pay", "ok"}};
  EXPECT_EQ(encode_progress(kept), std::string("\1\3\0\0\0pay\2\0\0\0ok", 14));
  kept.failure = std::make_shared<const answer>(answer{200, {}, "no"});
  kept.compensated = 1;
  EXPECT_EQ(encode_progress(kept),
            std::string("\2\1\0\0\0\6\0\0\0\xc8\1\0\2no\3\0\0\0pay\2\0\0\0ok", 28));
}

TEST(step_progress, what_breaks_off_or_is_somebody_elses_is_an_error) {
  step_progress kept;
  kept.done = {{"one", "gave"}, {"two", ""}};
  for (const bool failing : {false, true}) {
    kept.failure = failing ? declined() : nullptr;
    const auto whole = encode_progress(kept);
    int read = 0;
    for (std::size_t size = 1; size < whole.size(); ++size) {
      const auto part = decode_progress(std::string_view(whole).substr(0, size));
      read += part.has_value() ? 1 : 0;  // between two steps it can't tell
      if (!part) {
        EXPECT_EQ(part.error().code, errc::record_unreadable);
      }
    }
    EXPECT_EQ(read, 2);
  }
  EXPECT_FALSE(decode_progress("{\"step\": 1}"));
  EXPECT_FALSE(decode_progress("\3"));
}

TEST(step_progress, more_compensated_than_done_is_an_error) {
  step_progress kept;
  kept.done = {{"one", "gave"}};
  kept.failure = declined();
  kept.compensated = 2;
  EXPECT_FALSE(decode_progress(encode_progress(kept)));
}

}  // namespace
}  // namespace onceguard
