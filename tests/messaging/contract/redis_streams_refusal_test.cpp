// What an error of Redis means for a message.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "messaging/redis_streams/failure.hpp"

namespace onceguard::messaging::redis_streams {
namespace {

errc meaning_of(const std::string& reply) { return refusal("orders", reply).code; }

TEST(redis_streams_refusal,
     of_a_server_that_is_not_the_one_or_not_ready_says_nothing_of_a_message) {
  for (const std::string reply :
       {"MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381", "TRYAGAIN Multiple keys request",
        "CLUSTERDOWN The cluster is down", "LOADING Redis is loading the dataset in memory",
        "READONLY You can't write against a read only replica.",
        "MASTERDOWN Link with MASTER is down", "BUSY Redis is busy running a script.",
        "NOAUTH Authentication required.", "ERR max number of clients reached"}) {
    EXPECT_EQ(meaning_of(reply), errc::broker_unreachable) << reply;
  }
}

TEST(redis_streams_refusal, of_a_server_without_room_lasts_until_there_is_some) {
  for (const std::string reply : {"OOM command not allowed when used memory > 'maxmemory'.",
                                  "MISCONF Redis is configured to save RDB snapshots",
                                  "NOREPLICAS Not enough good replicas"}) {
    EXPECT_EQ(meaning_of(reply), errc::store_full) << reply;
  }
}

TEST(redis_streams_refusal, names_a_stream_or_group_that_is_missing) {
  for (const std::string reply : {"NOGROUP No such key 'orders' or consumer group",
                                  "UNBLOCKED the stream key no longer exists", "ERR no such key"}) {
    EXPECT_EQ(meaning_of(reply), errc::not_found) << reply;
  }
}

TEST(redis_streams_refusal, is_of_the_message_where_a_word_only_begins_like_another) {
  for (const std::string reply :
       {"WRONGTYPE Operation against a key holding the wrong kind of value", "MOVEDON 1",
        "ERR x"}) {
    EXPECT_EQ(meaning_of(reply), errc::conflict) << reply;
  }
}

TEST(redis_streams_refusal, tells_no_place_in_a_script) {
  EXPECT_EQ(refusal("orders", "ERR x script: abc, on @user_script:1.").detail, "orders: ERR x");
}

}  // namespace
}  // namespace onceguard::messaging::redis_streams
