// The scripts that write records, run by hand: what they compare, and the stamps that they give.
#include <gtest/gtest.h>

#include "store/redis/commands/scripts.hpp"
#include "store/redis/fixture.hpp"

namespace onceguard::testing {
namespace {

class redis_script_test : public ::testing::Test {
 protected:
  /// Runs the script that replaces a record. Replies the stamp, or else what there is.
  std::string swap(const std::string& begins, const std::string& payload) {
    return admin_.run({"EVAL", redis::script_text(redis::script::swap, false), "1", "record",
                       begins, payload, ""});
  }
  std::string value() { return admin_.run({"GET", "record"}); }
  static std::string payload(char filling) { return std::string(40, filling); }

  redis_server server_{{}, true};  // its clock stands still
  redis_session admin_ = server_.session();
};

TEST_F(redis_script_test, no_two_writes_of_a_record_have_one_stamp) {
  std::string last = swap("", payload('a'));
  for (int i = 0; i < 3; ++i) {
    const auto next = swap(value().substr(0, 37), payload('a'));
    ASSERT_EQ(next.size(), 8u);
    EXPECT_GT(next, last);
    last = next;
  }
}

TEST_F(redis_script_test, a_record_is_replaced_only_by_who_has_read_its_last_write) {
  swap("", payload('a'));
  const auto read = value().substr(0, 37);
  swap(read, payload('a'));
  const auto now = value();
  EXPECT_EQ(swap(read, payload('b')), now) << "the same lease, from before the last write";
  EXPECT_EQ(swap("", payload('b')), now) << "as if there were none";
  EXPECT_EQ(value(), now);
}

TEST_F(redis_script_test, what_was_no_string_is_replaced_only_while_it_is_none) {
  admin_.run({"RPUSH", "record", "no record"});
  EXPECT_EQ(swap("WRONGTYPE", payload('a')).size(), 8u);
  const auto now = value();
  EXPECT_EQ(swap("WRONGTYPE", payload('b')), now);
  EXPECT_EQ(value(), now);
}

}  // namespace
}  // namespace onceguard::testing
