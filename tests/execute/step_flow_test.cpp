// What a record keeps of the steps that are done.
#include "execute/step_flow.hpp"

#include <gtest/gtest.h>

namespace onceguard {
namespace {

TEST(step_flow, what_is_kept_is_read_again) {
  const std::vector<step_done> done{{"one", ""}, {"", std::string("\0\xff", 2)}, {"three", "x"}};
  EXPECT_EQ(*decode_steps(encode_steps(done)), done);
  EXPECT_TRUE(decode_steps("")->empty());
  EXPECT_TRUE(decode_steps(encode_steps({}))->empty());
}

TEST(step_flow, bytes_are_those_of_the_documentation) {
  EXPECT_EQ(encode_steps({{"pay", "ok"}}), std::string("\1\3\0\0\0pay\2\0\0\0ok", 14));
}

TEST(step_flow, what_breaks_off_or_is_somebody_elses_is_an_error) {
  const auto whole = encode_steps({{"one", "gave"}, {"two", ""}});
  int read = 0;
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto part = decode_steps(std::string_view(whole).substr(0, size));
    read += part.has_value() ? 1 : 0;  // between two of them it can't tell
    if (!part) {
      EXPECT_EQ(part.error().code, errc::record_unreadable);
    }
  }
  EXPECT_EQ(read, 2);
  EXPECT_FALSE(decode_steps("{\"step\": 1}"));
}

}  // namespace
}  // namespace onceguard
