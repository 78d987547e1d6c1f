// What the answer to a commit of several partitions says.
#include <gtest/gtest.h>

#include "messaging/kafka/committer.hpp"

namespace onceguard::messaging::kafka {
namespace {

struct a_commit : ::testing::Test {
  a_commit() : answered(rd_kafka_topic_partition_list_new(3)) {
    for (std::int32_t i = 0; i < 3; ++i) {
      rd_kafka_topic_partition_list_add(answered.get(), "orders", i);
    }
  }
  partition_list answered;
};

TEST_F(a_commit, is_taken_where_no_partition_was_refused) {
  EXPECT_EQ(refusal_in(RD_KAFKA_RESP_ERR_NO_ERROR, answered.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_EQ(refusal_in(RD_KAFKA_RESP_ERR_NO_ERROR, nullptr), RD_KAFKA_RESP_ERR_NO_ERROR);
}

TEST_F(a_commit, is_refused_where_one_partition_was) {
  for (int refused = 0; refused < 3; ++refused) {
    answered->elems[refused].err = RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE;
    EXPECT_EQ(refusal_in(RD_KAFKA_RESP_ERR_NO_ERROR, answered.get()),
              RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE);
    answered->elems[refused].err = RD_KAFKA_RESP_ERR_NO_ERROR;
  }
}

TEST_F(a_commit, is_refused_with_the_code_of_the_whole_answer) {
  EXPECT_EQ(refusal_in(RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, answered.get()),
            RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS);
}

}  // namespace
}  // namespace onceguard::messaging::kafka
