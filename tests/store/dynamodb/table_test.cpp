// The table: made by a command, and refused where it is another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/fault_acts.hpp"
#include "store/dynamodb/fixture.hpp"

namespace onceguard::testing {
namespace {

using ::testing::HasSubstr;

class dynamodb_table_test : public dynamodb_fixture {
 protected:
  [[nodiscard]] error refusal(const std::string& table) const {
    auto opened = dynamodb::dynamodb_store::open(params_for(server_.url(table), patience));
    if (opened) throw std::logic_error("it was opened");
    return opened.error();
  }
  [[nodiscard]] result<store_kind::migrated> migrate(const std::string& table) const {
    store_params params;
    params.url = server_.url(table);
    return dynamodb_store_kind().schema->migrate(params, false);
  }
  void make_other(const std::string& table, const std::string& key) const {
    server_.ask("CreateTable",
                R"({"TableName":")" + table + R"(","AttributeDefinitions":[{"AttributeName":")" +
                    key + R"(","AttributeType":"S"}],"KeySchema":[{"AttributeName":")" + key +
                    R"(","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"})");
  }
};

TEST_F(dynamodb_table_test, it_is_made_once_and_expires_items) {
  EXPECT_EQ(migrate(table_)->former, 1);
  const auto fresh = server_.new_table();
  const auto made = migrate(fresh).value();
  EXPECT_EQ(made.former, 0);
  EXPECT_EQ(made.version, 1);
  EXPECT_THAT(server_.ask("DescribeTimeToLive", R"({"TableName":")" + fresh + "\"}"),
              HasSubstr(R"("AttributeName":"ttl")"));
  const auto described = server_.ask("DescribeTable", R"({"TableName":")" + fresh + "\"}");
  EXPECT_THAT(described, HasSubstr("PAY_PER_REQUEST"));
  EXPECT_THAT(described, HasSubstr("KEYS_ONLY"));
}

TEST_F(dynamodb_table_test, a_table_that_is_missing_is_refused_with_the_command_that_makes_it) {
  const auto why = refusal("nowhere");
  EXPECT_EQ(why.code, errc::store_unreachable);
  EXPECT_THAT(why.detail, HasSubstr("onceguard migrate --store dynamodb://us-east-1/nowhere"));
}

TEST_F(dynamodb_table_test, another_programs_table_is_refused_and_not_changed) {
  for (const auto* const key : {"name", "id"}) {
    const auto other = server_.new_table();
    make_other(other, key);
    EXPECT_EQ(refusal(other).code, errc::invalid_argument);
    EXPECT_THAT(refusal(other).detail, HasSubstr("another program's table"));
    EXPECT_EQ(migrate(other).error().code, errc::invalid_argument);
    EXPECT_THAT(server_.ask("Scan", R"({"TableName":")" + other + "\"}"), HasSubstr("\"Count\":0"));
  }
}

TEST_F(dynamodb_table_test, a_table_without_its_own_item_or_of_a_newer_version_is_refused) {
  server_.ask("UpdateItem", named(R"(,"Key":{"id":{"S":"onceguard"}},"UpdateExpression":)"
                                  R"("SET #v = :v","ExpressionAttributeNames":{"#v":"version"},)"
                                  R"("ExpressionAttributeValues":{":v":{"N":"2"}})"));
  EXPECT_EQ(refusal(table_).code, errc::invalid_argument);
  EXPECT_THAT(refusal(table_).detail, HasSubstr("newer version"));
  EXPECT_EQ(migrate(table_).error().code, errc::invalid_argument);
  server_.ask("DeleteItem", named(R"(,"Key":{"id":{"S":"onceguard"}})"));
  EXPECT_EQ(refusal(table_).code, errc::store_unreachable);
  EXPECT_THAT(refusal(table_).detail, HasSubstr("onceguard migrate"));
}

TEST_F(dynamodb_table_test, a_table_that_is_made_anew_is_noticed_before_anything_is_granted) {
  const auto process = begin();
  auto& caller = *process->caller;
  const auto before = caller.vitals();
  const auto token = caller.completed(claim_of("k")).token;
  server_.ask("DeleteTable", named());
  const auto gone = caller.try_claim(claim_of("k"));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, errc::store_unreachable);
  EXPECT_THAT(gone.error().detail, HasSubstr("there is no such table"));
  make_dynamodb_table(url());
  const auto refused = caller.try_claim(claim_of("k"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::store_lost);
  EXPECT_NE(caller.vitals().identity, before.identity);
  caller.vitals();  // the one before has been handled
  process->clock.advance(second);
  EXPECT_GT(leased_until_known(caller, claim_of("other")).token, token);
}

TEST_F(dynamodb_table_test, releases_of_completed_records_are_counted_with_them) {
  const auto process = begin();
  auto& caller = *process->caller;
  const auto request = claim_of("k");
  caller.completed(request);
  const auto before = caller.vitals().forgotten;
  resolution release;
  release.id = request.id;
  EXPECT_EQ(caller.resolve(release).outcome, resolve_outcome::done);
  EXPECT_EQ(caller.vitals().forgotten, before + 1);
  EXPECT_EQ(begin()->caller->vitals().forgotten, before + 1);
}

TEST(dynamodb_url, faults_are_found) {
  const auto fault = [](const std::string& url) { return dynamodb_store_kind().url_fault(url); };
  for (const auto* const good :
       {"dynamodb://eu-central-1/keys",
        "dynamodb://us-east-1/a.b_c-d?endpoint=http://127.0.0.1:8000/",
        "dynamodb://cn-north-1/keys?endpoint=https%3A%2F%2Fdynamodb.example.org"}) {
    EXPECT_EQ(fault(good), "") << good;
  }
  for (const auto* const bad :
       {"dynamodb:", "dynamodb://", "dynamodb://eu-central-1", "dynamodb://eu-central-1/ab",
        "dynamodb://eu-central-1/a/b/c", "dynamodb://eu-central-1:80/keys",
        "dynamodb://key:secret@eu-central-1/keys", "dynamodb://eu-central-1/keys?prefix=a",
        "dynamodb://eu-central-1/keys?endpoint=ftp://a", "dynamodb://eu-central-1/keys#a",
        "dynamodb://eu-central-1/keys?endpoint=http://a/path"}) {
    EXPECT_NE(fault(bad), "") << bad;
    EXPECT_EQ(fault(bad).find("secret@"), std::string::npos);
  }
}

}  // namespace
}  // namespace onceguard::testing
