// Behaviour of the Redis store alone: servers and URLs that it refuses, the keys that it writes in
// Redis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/fault_acts.hpp"
#include "store/redis/fixture.hpp"
#include "store/redis/pool/server_facts.hpp"
#include "store/redis/redis_params.hpp"
#include "support/certificate.hpp"

namespace onceguard::testing {
namespace {

using redis::parse_address;
using redis::redis_store;
using ::testing::HasSubstr;
using ::testing::Not;

class redis_store_test : public redis_fixture {
 protected:
  static error refusal_of(const std::string& url, milliseconds timeout = milliseconds(5'000)) {
    auto value = params_for(url);
    value.timeout = timeout;
    const auto opened = redis_store::open(value);
    EXPECT_FALSE(opened) << url;
    return opened ? error() : opened.error();
  }
};

TEST_F(redis_store_test, a_url_is_parsed_with_all_of_its_parts) {
  const auto address = parse_address(
      "rediss://me:p%40ss@[::1]:7000/3?prefix=a%3Ab:&min_replicas=2"
      "&ca=/ca.pem&cert=/c.pem&key=/k.pem&verify=no");
  ASSERT_TRUE(address) << address.error().detail;
  EXPECT_EQ(address->servers, redis::deployment::single);
  EXPECT_EQ(address->seeds.at(0).host, "::1");
  EXPECT_EQ(address->seeds.at(0).port, "7000");
  EXPECT_EQ(address->login.user, "me");
  EXPECT_EQ(address->login.password, "p@ss");
  EXPECT_EQ(address->database, 3u);
  EXPECT_EQ(address->prefix, "a:b:");
  EXPECT_EQ(address->min_replicas, 2u);
  ASSERT_TRUE(address->tls);
  EXPECT_EQ(address->tls->ca, "/ca.pem");
  EXPECT_EQ(address->tls->certificate, "/c.pem");
  EXPECT_EQ(address->tls->key, "/k.pem");
  EXPECT_FALSE(address->tls->verify);
  EXPECT_EQ(address->name, "redis [::1]:7000/3");
  const auto plain = parse_address("redis://h");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->seeds.at(0).port, "6379");
  EXPECT_EQ(plain->prefix, "onceguard:");
  EXPECT_FALSE(plain->tls);
}

TEST_F(redis_store_test, valkey_is_another_name_for_redis) {
  for (const std::string kind : {"", "+sentinel", "+cluster"}) {
    const auto rest = kind + "://h:1" + (kind == "+sentinel" ? "/master" : "");
    for (const auto& [scheme, other] : {std::pair("redis", "valkey"), {"rediss", "valkeys"}}) {
      const auto one = parse_address(scheme + rest), two = parse_address(other + rest);
      ASSERT_TRUE(one && two) << other + rest;
      EXPECT_EQ(one->servers, two->servers);
      EXPECT_EQ(one->tls.has_value(), two->tls.has_value());
      EXPECT_EQ(one->name, two->name);
    }
  }
  EXPECT_FALSE(parse_address("valkeyss://h"));
  EXPECT_FALSE(parse_address("valkey+other://h"));
}

TEST_F(redis_store_test, a_url_with_tls_for_a_plain_port_and_the_reverse_are_named_in_the_error) {
  const auto port = std::to_string(server_.port());
  await_reason("the URL begins with redis:// instead of rediss://",
               [&] { return refusal_of("rediss://127.0.0.1:" + port, milliseconds(1'000)); });
  const certificate proof;
  const auto secured_port = std::to_string(free_port());
  redis_server secured({"--tls-port", secured_port, "--tls-cert-file", proof.file(),
                        "--tls-key-file", proof.key(), "--tls-ca-cert-file", proof.file()});
  await_reason("the URL begins with rediss://", [&] {
    return refusal_of("redis://127.0.0.1:" + secured_port, milliseconds(1'000));
  });
}

TEST_F(redis_store_test, a_wrong_url_is_refused_without_its_password) {
  for (const char* url :
       {"redis:h", "redis://", "redis://secret@h", "redis://u:secret@", "redis://u:secret@h:0",
        "redis://u:secret@h:65536", "redis://u:secret@h/x", "redis://u:secret@h?no=1",
        "redis://u:%zzsecret@h", "redis://u:secret@[::1", "redis://u:secret@h?connections=2",
        "redis://u:secret@h?ca=/x", "rediss://u:secret@h?cert=/x", "redis://u:secret@h?prefix",
        "redis://u:secret@h?functions=no", "redis://u:secret@h?min_replicas=-1"}) {
    const auto address = parse_address(url);
    ASSERT_FALSE(address) << url;
    EXPECT_EQ(address.error().code, errc::invalid_argument);
    EXPECT_THAT(address.error().detail, Not(HasSubstr("secret"))) << url;
  }
}

TEST_F(redis_store_test, a_server_that_would_evict_keys_is_refused) {
  redis_server evicting({"--maxmemory-policy", "allkeys-lru"});
  const auto why = refusal_of(evicting.url());
  EXPECT_EQ(why.code, errc::store_unreachable);
  EXPECT_THAT(why.detail, HasSubstr("maxmemory-policy is allkeys-lru"));
}

TEST_F(redis_store_test, a_replica_or_an_absent_server_is_unreachable) {
  redis_server replica({"--replicaof", "127.0.0.1", std::to_string(server_.port())});
  await_reason("replica", [&] {
    auto why = refusal_of(replica.url(), milliseconds(1'500));
    EXPECT_EQ(why.code, errc::store_unreachable);
    return why;
  });
  const auto nowhere = refusal_of(redis_server::url_at(free_port()), milliseconds(300));
  EXPECT_EQ(nowhere.code, errc::store_unreachable);
}

TEST_F(redis_store_test, credentials_are_checked_and_a_user_needs_only_the_documented_permissions) {
  redis_server guarded({"--requirepass", "secret"});
  const auto url_with = [&](const std::string& credentials) {
    return "redis://" + credentials + "127.0.0.1:" + std::to_string(guarded.port());
  };
  for (const char* credentials : {"", ":wrong@", "nobody:secret@"}) {
    const auto why = refusal_of(url_with(credentials));
    EXPECT_EQ(why.code, errc::store_unreachable) << why.detail;
    EXPECT_THAT(why.detail, Not(HasSubstr("secret")));
  }
  auto admin = guarded.session();
  admin.run({"AUTH", "secret"});
  admin.run({"ACL",   "SETUSER",  "gateway",      "on",    ">word",  "~onceguard:*", "+select",
             "+info", "+evalsha", "+script|load", "+time", "+get",   "+getrange",    "+set",
             "+hget", "+hmget",   "+hset",        "+hdel", "+hkeys", "+hincrby",     "+scan"});
  open(params_for(url_with(":secret@")))->stop();
  const auto tested = open(params_for(url_with("gateway:word@")));
  blocking_store own(*tested);
  const auto request = claim_of("k");
  const auto held = own.leased(request);
  EXPECT_TRUE(own.extend(extend_of(request, held)));
  EXPECT_EQ(own.settle(settle_of(request, held)).outcome, settle_outcome::done);
  EXPECT_EQ(own.list().records.size(), 1u);
  resolution change;
  change.id = request.id;
  EXPECT_TRUE(own.resolve(change).forgets_answer);
  EXPECT_EQ(own.vitals().forgotten, 1u);
  admin.run({"ACL", "SETUSER", "stranger", "on", ">word", "~other:*", "+@all"});
  const auto stranger = refusal_of(url_with("stranger:word@"));
  EXPECT_EQ(stranger.code, errc::store_unreachable);
  EXPECT_THAT(stranger.detail, HasSubstr("NOPERM"));
  EXPECT_THAT(stranger.detail, HasSubstr("type the ACL SETUSER of docs/redis.md"));
}

TEST_F(redis_store_test, a_missing_permission_is_recognised_in_the_words_of_each_redis_version) {
  for (const auto* reply :
       {"NOPERM this user has no permissions to run the 'get' command",
        "ERR The user executing the script can't run this command or subcommand script: a",
        "ERR ACL failure in script: User gateway has no permissions to run the 'hset' command"}) {
    EXPECT_THAT(redis::failure_of(reply).text, HasSubstr("ACL SETUSER")) << reply;
  }
  EXPECT_EQ(redis::failure_of("OOM command not allowed").text, "OOM command not allowed");
}

TEST_F(redis_store_test, tls_certificates_of_server_and_client_are_verified) {
  const certificate proof;
  const auto port = std::to_string(free_port());
  redis_server secured({"--tls-port", port, "--tls-cert-file", proof.file(), "--tls-key-file",
                        proof.key(), "--tls-ca-cert-file", proof.file()});
  const auto url_with = [&](const std::string& query) {
    return "rediss://127.0.0.1:" + port + query;
  };
  const auto own = "&cert=" + proof.file() + "&key=" + proof.key();
  const auto tested = open(params_for(url_with("?ca=" + proof.file() + own)));
  blocking_store(*tested).completed(claim_of("k"));
  open(params_for(url_with("?verify=no" + own)))->stop();
  for (const auto& query :
       {"?ca=" + proof.file(), "?cert=" + proof.file() + "&key=" + proof.key()}) {
    const auto why = refusal_of(url_with(query), milliseconds(300));
    EXPECT_EQ(why.code, errc::store_unreachable) << query;
  }
  for (const std::string query : {"?ca=/nowhere", "?cert=/nowhere&key=/nowhere"}) {
    const auto why = refusal_of(url_with(query));
    EXPECT_EQ(why.code, errc::invalid_argument);
    EXPECT_THAT(why.detail, HasSubstr("/nowhere"));
  }
}

TEST_F(redis_store_test, stores_with_different_prefixes_or_databases_share_no_records) {
  const auto one = open();
  const auto other = open(server_, "prefix=other*:");
  const auto third = open(params_for(server_.url() + "/1"));
  blocking_store caller(*one);
  caller.completed(claim_of("k"));
  for (const auto* each : {&other, &third}) {
    blocking_store there(**each);
    EXPECT_NE(there.vitals().identity, caller.vitals().identity);
    EXPECT_EQ(there.claim(claim_of("k")).kind, verdict_kind::run);
    EXPECT_EQ(there.list().records.size(), 1u);
  }
  EXPECT_EQ(caller.list().records.size(), 1u);
}

TEST_F(redis_store_test, only_settled_records_expire) {
  const auto tested = open();
  blocking_store caller(*tested);
  auto admin = server_.session();
  const auto request = claim_of("k");
  const auto held = caller.leased(request);
  EXPECT_EQ(admin.run({"PTTL", name_of(request)}), "-1");
  EXPECT_TRUE(caller.extend(extend_of(request, held)));
  EXPECT_EQ(admin.run({"PTTL", name_of(request)}), "-1");
  caller.settle(settle_of(request, held));
  const auto left = std::stoll(admin.run({"PTTL", name_of(request)}));
  EXPECT_LE(left, day.count());
  EXPECT_GT(left, day.count() - 60'000);
}

TEST_F(redis_store_test, an_unreadable_record_is_an_error_and_is_left_unchanged) {
  const auto tested = open();
  blocking_store caller(*tested);
  auto admin = server_.session();
  const auto request = claim_of("k");
  caller.completed(request);
  const auto good = admin.run({"GET", name_of(request)});
  for (std::size_t byte = 0; byte < good.size(); ++byte) {
    auto bad = good;
    bad[byte] = static_cast<char>(bad[byte] ^ 4);
    admin.run({"SET", name_of(request), bad});
    const auto reply = caller.claims({claim_of("k"), claim_of("neighbour")});
    ASSERT_FALSE(reply[0]) << byte;
    EXPECT_EQ(reply[0].error().code, errc::record_unreadable) << byte;
    EXPECT_TRUE(reply[1]);
    EXPECT_EQ(caller.try_find(request.id).error().code, errc::record_unreadable) << byte;
    EXPECT_EQ(admin.run({"GET", name_of(request)}), bad);
  }
  admin.run({"SET", name_of(request), good.substr(0, 40)});
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::record_unreadable);
  EXPECT_EQ(caller.list().records.size(), 1u);
  admin.run({"DEL", name_of(request)});
  admin.run({"LPUSH", name_of(request), "a list"});
  EXPECT_EQ(caller.list().records.size(), 1u);
  EXPECT_EQ(caller.try_claim(claim_of("k")).error().code, errc::record_unreadable);
}

TEST_F(redis_store_test, the_loss_by_a_restart_is_derived_from_the_persistence_settings) {
  redis::server_facts facts;
  EXPECT_THAT(std::string(lost_by_restart(facts)), HasSubstr("unknown"));
  facts.append_only = "no";
  EXPECT_THAT(std::string(lost_by_restart(facts)), HasSubstr("snapshot"));
  facts.snapshots = "";
  EXPECT_EQ(lost_by_restart(facts), "everything");
  facts.append_only = "yes";
  facts.flushes = "everysec";
  EXPECT_THAT(std::string(lost_by_restart(facts)), HasSubstr("two seconds"));
  EXPECT_FALSE(keeps_everything(facts));
  facts.flushes = "always";
  EXPECT_TRUE(keeps_everything(facts));
  EXPECT_FALSE(open()->traits().durable);
  redis_server careful({"--appendonly", "yes", "--appendfsync", "always"});
  EXPECT_TRUE(open(careful)->traits().durable);
}

TEST_F(redis_store_test, a_server_that_is_too_old_or_a_cluster_node_is_refused) {
  const auto refused = [](const char* info) {
    const auto why = reason_for_distrust(redis::read_info(info));
    return why ? why->text : std::string();
  };
  EXPECT_THAT(refused("redis_version:6.0.16\r\n"), HasSubstr("6.2"));
  EXPECT_THAT(refused("redis_version:7.0.15\r\ncluster_enabled:1\r\n"), HasSubstr("cluster"));
  EXPECT_EQ(refused("redis_version:7.0.15\r\ncluster_enabled:0\r\n"), "");
  EXPECT_FALSE(redis::read_info("redis_version:6.2.7\r\n").flags_of_scripts);
  EXPECT_TRUE(redis::read_info("redis_version:7.0.15\r\n").flags_of_scripts);
}

TEST_F(redis_store_test, a_full_server_refuses_new_claims_and_still_extends_settles_and_resolves) {
  redis_server full;
  const auto tested = open(full);
  blocking_store caller(*tested);
  const auto running = claim_of("running");
  const auto held = caller.leased(running);
  const auto released = claim_of("released");
  caller.completed(released);
  auto admin = full.session();
  admin.run({"CONFIG", "SET", "maxmemory", "1"});
  const auto later = open(full);  // another process can still open the store
  for (auto* each : {tested.get(), later.get()}) {
    blocking_store there(*each);
    const auto verdict = there.try_claim(claim_of("k"));
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, errc::store_full);
    EXPECT_EQ(verdict.error().effect, effect::none);
    EXPECT_EQ(there.list().records.size(), 2u);
    EXPECT_FALSE(there.vitals().identity.empty());
  }
  EXPECT_TRUE(caller.extend(extend_of(running, held)));
  EXPECT_EQ(caller.settle(settle_of(running, held)).outcome, settle_outcome::done);
  resolution request;
  request.id = released.id;
  EXPECT_EQ(caller.resolve(request).outcome, resolve_outcome::done);
  admin.run({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(caller.claim(claim_of("running")).kind, verdict_kind::replay);
  EXPECT_EQ(caller.claim(claim_of("released")).kind, verdict_kind::run);
}

TEST_F(redis_store_test, a_server_that_is_full_from_the_start_can_be_opened_and_reports_it) {
  redis_server full({"--maxmemory", "1"});
  const auto tested = open(full);
  const auto why = blocking_store(*tested).try_claim(claim_of("k"));
  ASSERT_FALSE(why);
  EXPECT_EQ(why.error().code, errc::store_full);
  EXPECT_THAT(why.error().detail, HasSubstr("OOM"));
}

TEST_F(redis_store_test, a_claim_waits_for_its_replicas_if_min_replicas_is_set) {
  redis_server master({"--repl-diskless-sync-delay", "0"});
  auto value = params_for(master.url("min_replicas=1"));
  value.timeout = milliseconds(1'000);
  store_ptr tested;
  wait_until("a server that answers within the timeout", [&] {
    tested = open(value);
    return true;
  });
  blocking_store caller(*tested);
  const auto request = claim_of("k");
  expect_in_doubt(caller, request, milliseconds(1'000));
  redis_server replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  const auto after = claim_until_known(caller, request);
  ASSERT_TRUE(after) << after.error().detail;
  EXPECT_EQ(after->kind, verdict_kind::run);
  EXPECT_EQ(after->lease.attempt, 1u);
  EXPECT_EQ(replica.session().run({"EXISTS", name_of(request)}), "1");
}

}  // namespace
}  // namespace onceguard::testing
