// Slots and hash tags, URLs of several servers, and the replies in which cluster nodes describe
// themselves.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/random.hpp"
#include "store/redis/cluster_fixture.hpp"
#include "store/redis/commands/keyspace.hpp"
#include "store/redis/redis_params.hpp"

namespace onceguard::testing {
namespace {

using redis::parse_address;
using redis::slot_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class redis_slots_test : public redis_cluster_fixture {};

TEST(redis_slots, a_slot_is_the_checksum_of_the_name_or_of_its_hash_tag) {
  EXPECT_EQ(slot_of("123456789"), 0x31c3);
  EXPECT_EQ(slot_of(""), 0);
  EXPECT_EQ(slot_of("a{b}c"), slot_of("b"));
  EXPECT_EQ(slot_of("a{b}{c}"), slot_of("b"));
  EXPECT_EQ(slot_of("a{{b}}c"), slot_of("{b"));
  EXPECT_NE(slot_of("a{}{c}"), slot_of("c"));
  EXPECT_NE(slot_of("a{b"), slot_of("b"));
}

TEST_F(redis_slots_test, computed_slots_match_those_of_the_server) {
  auto server = cluster_.node(0).session();
  for (int i = 0; i < 300; ++i) {
    std::array<unsigned char, 12> random{};
    base::random_bytes(random);
    std::string name(base::as_chars(random));
    if (i % 3 == 0) name.insert(3, "{").insert(static_cast<std::size_t>(5 + i % 7), "}");
    EXPECT_EQ(server.run({"CLUSTER", "KEYSLOT", name}), std::to_string(redis::slot_of(name)))
        << base::to_hex(random);
  }
}

TEST(redis_slots, the_parts_of_a_store_are_spread_evenly_over_the_masters) {
  const redis::keyspace names("onceguard:", true);
  ASSERT_EQ(names.parts(), 256u);
  for (const std::size_t masters : {3u, 5u, 16u, 64u}) {
    std::vector<int> held(masters);
    for (std::size_t part = 0; part < names.parts(); ++part) {
      ++held[names.slot_of_part(part) * masters / redis::slot_count];
    }
    const auto [least, most] = std::minmax_element(held.begin(), held.end());
    EXPECT_LE(*most - *least, 1) << masters;
  }
  for (int i = 0; i < 100; ++i) {
    const auto id = claim_of("k" + std::to_string(i)).id;
    const auto name = names.record(id);
    EXPECT_EQ(slot_of(name), names.slot_of_part(names.part_of(id)));
    EXPECT_EQ(slot_of(names.metadata(names.part_of(id))), slot_of(name));
    EXPECT_EQ(names.id_of(name), id);
    auto another = id;
    another.front() ^= 1;
    EXPECT_EQ(names.id_of(name.substr(0, name.size() - 32) + std::string(base::as_chars(another))),
              std::nullopt);
  }
  EXPECT_EQ(names.id_of("onceguard:r:"), std::nullopt);
}

TEST(redis_address, a_url_can_name_several_servers) {
  const auto cluster = parse_address("redis+cluster://me:s@a:7000,b,[::1]:7002?min_replicas=1");
  ASSERT_TRUE(cluster) << cluster.error().detail;
  EXPECT_EQ(cluster->servers, redis::deployment::cluster);
  EXPECT_THAT(cluster->seeds,
              ElementsAre(redis::endpoint{"a", "7000"}, redis::endpoint{"b", "6379"},
                          redis::endpoint{"::1", "7002"}));
  EXPECT_FALSE(cluster->tls);
  EXPECT_EQ(cluster->name, "redis cluster a:7000,b:6379,[::1]:7002");
  const auto behind = parse_address(
      "rediss+sentinel://:s@a,b:1/main/2?sentinel_user=u&sentinel_password=p%40&verify=no");
  ASSERT_TRUE(behind) << behind.error().detail;
  EXPECT_EQ(behind->servers, redis::deployment::sentinel);
  EXPECT_THAT(behind->seeds, ElementsAre(redis::endpoint{"a", "26379"}, redis::endpoint{"b", "1"}));
  EXPECT_TRUE(behind->tls);
  EXPECT_EQ(behind->master, "main");
  EXPECT_EQ(behind->database, 2u);
  EXPECT_EQ(behind->login.password, "s");
  EXPECT_EQ(behind->sentinel_login.user, "u");
  EXPECT_EQ(behind->sentinel_login.password, "p@");
  EXPECT_EQ(behind->name, "redis sentinel a:26379,b:1/main/2");
}

TEST(redis_address, a_wrong_url_of_several_servers_is_refused_without_its_password) {
  for (const char* url :
       {"redis://u:secret@a,b", "redis+cluster://u:secret@a,", "redis+cluster://u:secret@a/1",
        "redis+cluster://u:secret@a?prefix=%7Bx", "redis+sentinel://u:secret@a",
        "redis+sentinel://u:secret@a/", "redis+sentinel://u:secret@a/m/x",
        "redis+sentinel://u:secret@a/m?sentinel_user=x", "redis+other://u:secret@a",
        "redis+cluster://u:secret@a?sentinel_user=x", "redis+sentinel://u:secret@a/%zz"}) {
    const auto position = parse_address(url);
    ASSERT_FALSE(position) << url;
    EXPECT_EQ(position.error().code, errc::invalid_argument);
    EXPECT_THAT(position.error().detail, Not(HasSubstr("secret"))) << url;
  }
}

TEST(redis_cluster_text, cluster_nodes_are_parsed_with_their_migrating_slots) {
  const auto nodes = redis::read_nodes(
      "aa 10.0.0.1:1@2,host myself,master - 0 0 7 connected 0-5 7 [93->-bb] [77-<-bb]\n"
      "bb 10.0.0.2:1@2 master,fail - 0 0 8 connected 8-9\n"
      "cc 10.0.0.3:1@2 slave aa 0 0 7 connected\n"
      "broken\n");
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_TRUE(nodes[0].myself);
  EXPECT_TRUE(nodes[0].master);
  EXPECT_EQ(nodes[0].epoch, 7u);
  EXPECT_THAT(nodes[0].slots, ElementsAre(std::pair(0, 5), std::pair(7, 7)));
  ASSERT_EQ(nodes[0].leaving.size(), 1u);
  EXPECT_EQ(nodes[0].leaving[0].slot, 93);
  EXPECT_EQ(nodes[0].leaving[0].target, "bb");
  EXPECT_FALSE(nodes[1].master);
  EXPECT_FALSE(nodes[2].master);
}

TEST(redis_cluster_text, redirections_are_parsed_and_malformed_ones_have_no_target) {
  const redis::endpoint address{"10.0.0.1", "1"};
  const auto target = [&](const char* text) { return target_of(redis::failure_of(text), address); };
  EXPECT_EQ(target("MOVED 3 10.0.0.2:7"), (redis::endpoint{"10.0.0.2", "7"}));
  EXPECT_EQ(target("ASK 3 ::1:7"), (redis::endpoint{"::1", "7"}));
  EXPECT_EQ(target("MOVED 3 :7"), (redis::endpoint{"10.0.0.1", "7"}));
  for (const char* text : {"MOVED", "MOVED 3", "MOVED 3 x", "MOVED 3 ?:7", "MOVED 3 h:0",
                           "MOVED 3 h:x", "TRYAGAIN Multiple keys"}) {
    EXPECT_EQ(target(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace onceguard::testing
