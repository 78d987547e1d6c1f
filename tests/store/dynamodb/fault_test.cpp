// The DynamoDB store while connections break, and while the service throttles, fails or hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/contract/fault_acts.hpp"
#include "store/dynamodb/fixture.hpp"
#include "support/http_script.hpp"
#include "support/scale.hpp"
#include "support/scoped_variable.hpp"
#include "support/tcp_gate.hpp"

namespace onceguard::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class dynamodb_cut_at : public dynamodb_fixture, public ::testing::WithParamInterface<direction> {};
INSTANTIATE_TEST_SUITE_P(directions, dynamodb_cut_at,
                         ::testing::Values(direction::to_server, direction::to_client),
                         [](const auto& test) {
                           return test.param == direction::to_server ? "to_server" : "to_client";
                         });

TEST_P(dynamodb_cut_at, a_cut_at_any_byte_runs_nothing_twice_and_is_recovered_from) {
  tcp_gate gate(server_.port());
  const auto tested =
      open_dynamodb(params_for(dynamodb_server::url_at(gate.port(), table_), milliseconds(5'000)));
  blocking_store caller(*tested);
  int cuts = 0;
  for (std::uint64_t byte = 0;; byte += scaled_step(23)) {
    gate.cut_after(GetParam(), byte);
    expect_one_run(caller, "k" + std::to_string(byte));
    if (gate.armed()) break;  // `byte` is beyond the end of the conversation
    ++cuts;
  }
  gate.disarm();
  EXPECT_GT(cuts, scaled(10));
  expect_each_once(caller, static_cast<std::size_t>(cuts + 1));
}

TEST_P(dynamodb_cut_at, a_cut_within_an_answer_in_pieces_is_recovered_from) {
  tcp_gate gate(server_.port());
  auto params = params_for(dynamodb_server::url_at(gate.port(), table_), milliseconds(5'000));
  params.piece_size = 20;
  const auto tested = open_dynamodb(params);
  blocking_store caller(*tested);
  for (std::uint64_t byte = 0;; byte += scaled_step(211)) {
    gate.cut_after(GetParam(), byte);
    expect_one_run(caller, "k" + std::to_string(byte));
    if (gate.armed()) break;
  }
  gate.disarm();
}

using dynamodb_fault_test = dynamodb_fixture;

TEST_F(dynamodb_fault_test, a_hanging_service_is_reported_unreachable_within_the_timeout) {
  dynamodb_server server;
  const auto url = server.url("keys");
  make_dynamodb_table(url);
  const auto tested = open_dynamodb(params_for(url, milliseconds(20'000)));
  blocking_store caller(*tested);
  caller.completed(claim_of("before"));
  server.pause();
  const auto request = claim_of("k");
  expect_in_doubt(caller, request, milliseconds(1'500));
  server.go_on();
  const auto after = claim_until_known(caller, request);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->kind, verdict_kind::run);
  EXPECT_EQ(after->lease.attempt, 1u);
}

TEST_F(dynamodb_fault_test, a_service_that_is_not_there_is_unreachable_without_effect) {
  dynamodb_server server;
  const auto url = server.url("keys");
  make_dynamodb_table(url);
  const auto tested = open_dynamodb(params_for(url, milliseconds(2'000)));
  blocking_store caller(*tested);
  caller.completed(claim_of("before"));
  server.stop();
  for (int i = 0; i < 3; ++i) {
    const auto verdict = caller.try_claim(claim_of("k"));
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, errc::store_unreachable);
    // The first one may have met the connection that was kept.
    EXPECT_TRUE(i == 0 || verdict.error().effect == effect::none);
  }
  const auto opened = dynamodb::dynamodb_store::open(params_for(url, milliseconds(500)));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::store_unreachable);
}

TEST_F(dynamodb_fault_test, wrong_credentials_are_an_error_that_shows_no_secret) {
  {
    const scoped_variable wrong("AWS_SECRET_ACCESS_KEY", "another-secret");
    const auto why = dynamodb::dynamodb_store::open(params_for(url(), patience)).error();
    EXPECT_EQ(why.code, errc::store_unreachable);
    EXPECT_THAT(why.detail, HasSubstr("InvalidSignatureException"));
    EXPECT_THAT(why.detail, HasSubstr("credentials"));
    EXPECT_THAT(why.detail, Not(HasSubstr("another-secret")));
  }
  const scoped_variable wrong("AWS_ACCESS_KEY_ID", "AKIDOTHER");
  const auto why = dynamodb::dynamodb_store::open(params_for(url(), patience)).error();
  EXPECT_EQ(why.code, errc::store_unreachable);
  EXPECT_THAT(why.detail, HasSubstr("UnrecognizedClientException"));
}

/// Against a service that answers as a test says. What is not scripted is served by one table in
/// which the last item that was put stands under each key.
class dynamodb_script_test : public ::testing::Test {
 protected:
  dynamodb_script_test() {
    params_.url = "dynamodb://us-east-1/keys?endpoint=" + server_.endpoint();
    params_.timeout = patience;
    tested_ = open_dynamodb(params_);
    caller_.emplace(*tested_);
    server_.requests();
  }
  static std::string problem(const std::string& code, const std::string& words = "words",
                             const std::string& more = {}) {
    return R"({"__type":"com.amazonaws.dynamodb.v20120810#)" + code + R"(","message":")" + words +
           "\"" + more + "}";
  }

  /// The item of the last put, as the answer of a read has it. The requests up to it are gone.
  std::string last_put() {
    const auto put = server_.requests("DynamoDB_20120810.PutItem").back();
    return json{{"Item", json::parse(put.substr(put.find("\r\n\r\n") + 4)).at("Item")}}.dump();
  }

  /// What a put finds: the very item that it puts, which the condition's answer has, or has not.
  enum class prior_item : std::uint8_t { none, in_answer, asked_for };
  std::pair<int, std::string> already_there(const std::string& request) {
    const auto body = json::parse(request.substr(request.find("\r\n\r\n") + 4));
    last_item_ = json{{"Item", body.at("Item")}}.dump();
    const auto member =
        prior_ == prior_item::in_answer ? "," + last_item_.substr(1, last_item_.size() - 2) : "";
    return {400,
            problem("ConditionalCheckFailedException", "The conditional request failed", member)};
  }

  prior_item prior_ = prior_item::none;  // set before a call of server_, whose thread reads it
  std::string last_item_ = "{}";
  std::string description_ =
      R"({"Table":{"TableStatus":"ACTIVE","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],)"
      R"("AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],)"
      R"("GlobalSecondaryIndexes":[{"IndexName":"open","IndexStatus":"ACTIVE","KeySchema":[)"
      R"({"AttributeName":"open","KeyType":"HASH"},)"
      R"({"AttributeName":"first","KeyType":"RANGE"}]}]}})";
  const scoped_variable key_id_{"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"};
  const scoped_variable secret_{"AWS_SECRET_ACCESS_KEY", "the-secret"};
  http_script server_{[this](const std::string& request) -> std::pair<int, std::string> {
    const auto is = [&](const char* action) {
      return request.find("DynamoDB_20120810." + std::string(action) + "\r\n") != request.npos;
    };
    if (is("DescribeTable")) return {200, description_};
    if (is("GetItem") && request.find(R"("onceguard")") != request.npos) {
      return {200, R"({"Item":{"id":{"S":"onceguard"},"identity":{"S":"i"},"version":{"N":"1"},)"
                   R"("generation":{"N":"1"},"forgotten":{"N":"0"}}})"};
    }
    if (is("GetItem")) return {200, last_item_};
    if (is("PutItem") && prior_ != prior_item::none) return already_there(request);
    return {200, "{}"};
  }};
  dynamodb::dynamodb_params params_;
  std::unique_ptr<dynamodb::dynamodb_store> tested_;
  std::optional<blocking_store> caller_;
};

TEST_F(dynamodb_script_test, a_throttled_claim_is_sent_again) {
  for (const auto* const code : {"ProvisionedThroughputExceededException", "ThrottlingException",
                                 "RequestLimitExceeded", "TransactionConflictException"}) {
    server_.requests();
    server_.answer(400, problem(code));
    server_.answer(400, problem(code));
    EXPECT_EQ(caller_->claim(claim_of(code)).kind, verdict_kind::run) << code;
    EXPECT_EQ(server_.requests("DynamoDB_20120810.PutItem").size(), 3u) << code;
  }
}

TEST_F(dynamodb_script_test, a_service_that_stays_throttled_is_unreachable_without_effect) {
  for (int i = 0; i < 10'000; ++i) {
    server_.answer(400, problem("ThrottlingException", "slow down"));
  }
  // A claim of which a try was still under way when its time was over is in doubt, and comes again.
  wait_until("a time that is over between two tries", [&] {
    const auto begun = base::boot_now();
    const auto verdict = caller_->try_claim(claim_of("k"), milliseconds(1'500));
    EXPECT_LT(base::boot_now() - begun, std::chrono::seconds(20));
    if (verdict) {
      ADD_FAILURE() << "it was granted";
      return true;
    }
    const auto why = verdict.error();
    EXPECT_EQ(why.code, errc::store_unreachable);
    return why.effect == effect::none &&
           why.detail.find("ThrottlingException: slow down") != std::string::npos;
  });
}

TEST_F(dynamodb_script_test, no_try_is_begun_that_has_no_time_for_an_answer) {
  for (int i = 0; i < 10'000; ++i) {
    server_.answer(400, problem("ThrottlingException", "slow down"));
  }
  std::size_t claims = 0;
  std::size_t sent = 0;
  wait_until("a claim that was sent", [&] {
    ++claims;
    EXPECT_FALSE(caller_->try_claim(claim_of("k"), milliseconds(45)));
    sent += server_.requests("DynamoDB_20120810.PutItem").size();
    return sent > 0;
  });
  EXPECT_LE(sent, claims);
}

TEST_F(dynamodb_script_test, a_claim_that_failed_in_doubt_recognises_its_own_write) {
  for (const auto repeated : {prior_item::in_answer, prior_item::asked_for}) {
    const auto request = claim_of(repeated == prior_item::asked_for ? "asked for" : "sent");
    // The first try is carried out, and its answer is an error; of the second, the condition fails.
    prior_ = repeated;
    server_.answer(500, problem("InternalServerError"));
    const auto verdict = caller_->try_claim(request);
    ASSERT_TRUE(verdict) << verdict.error().detail;
    EXPECT_EQ(verdict->kind, verdict_kind::run);
    EXPECT_EQ(verdict->lease.claim_id, request.claim_id);
    EXPECT_EQ(verdict->lease.attempt, 1u);
    EXPECT_EQ(server_.requests("DynamoDB_20120810.PutItem").size(), 2u);
  }
}

TEST_F(dynamodb_script_test,
       a_settle_in_doubt_that_meets_the_renewal_of_another_process_is_sent_again) {
  const auto request = claim_of("k");
  const auto held = caller_->leased(request);
  last_item_ = last_put();
  const auto other = open_dynamodb(params_);
  EXPECT_TRUE(blocking_store(*other).extend(extend_of(request, held)));
  const auto renewed = last_put();
  // Both writes are the second ones of the lease: their marks are the same.
  server_.answer(500, problem("InternalServerError"));
  server_.answer(400, problem("ConditionalCheckFailedException", "The conditional request failed",
                              "," + renewed.substr(1, renewed.size() - 2)));
  EXPECT_EQ(caller_->settle(settle_of(request, held)).outcome, settle_outcome::done);
  EXPECT_EQ(server_.requests("DynamoDB_20120810.PutItem").size(), 3u);
}

TEST_F(dynamodb_script_test, a_transaction_that_meets_another_one_is_sent_again) {
  const auto request = claim_of("k");
  const auto held = caller_->leased(request);
  server_.requests();
  caller_->settle(settle_of(request, held));
  last_item_ = last_put();
  server_.answer(200, last_item_);
  for (const auto* const code : {"TransactionConflict", "ThrottlingError"}) {
    server_.answer(400, problem("TransactionCanceledException", "Transaction cancelled",
                                R"(,"CancellationReasons":[{"Code":"None"},{"Code":")" +
                                    std::string(code) + "\"}]"));
  }
  resolution release;
  release.id = request.id;
  EXPECT_EQ(caller_->resolve(release).outcome, resolve_outcome::done);
  const auto sent = server_.requests("DynamoDB_20120810.TransactWriteItems");
  ASSERT_EQ(sent.size(), 3u);
  const auto content = [](const std::string& each) { return each.substr(each.find("\r\n\r\n")); };
  EXPECT_EQ(content(sent[0]), content(sent[2]));  // with one token: it is carried out once
}

TEST_F(dynamodb_script_test, what_has_waited_in_vain_has_the_last_reason) {
  server_.answer(503, "<html>busy</html>");
  for (int i = 0; i < 10'000; ++i) server_.answer(500, problem("InternalServerError", "sorry"));
  // Of a try that was still under way when the time was over, the reason is that it took too long.
  wait_until("a time that is over between two tries", [&] {
    const auto verdict = caller_->try_claim(claim_of("k"), milliseconds(2'000));
    if (verdict) {
      ADD_FAILURE() << "it was granted";
      return true;
    }
    const auto why = verdict.error();
    return why.effect == effect::unknown &&  // one of them may have written
           why.detail.find("InternalServerError: sorry") != std::string::npos;
  });
}

TEST_F(dynamodb_script_test, a_clock_that_is_too_far_off_is_named) {
  for (const auto& answer :
       {problem("InvalidSignatureException", "Signature expired: 20260101T000000Z is now earlier"),
        problem("InvalidSignatureException", "Signature not yet current: 2026"),
        problem("RequestTimeTooSkewed", "too large")}) {
    server_.answer(400, answer);
    const auto verdict = caller_->try_claim(claim_of("k"));
    ASSERT_FALSE(verdict);
    EXPECT_EQ(verdict.error().code, errc::store_unreachable);
    EXPECT_EQ(verdict.error().effect, effect::none);
    EXPECT_THAT(verdict.error().detail, HasSubstr("this machine's clock is too far from Amazon's"));
  }
}

TEST_F(dynamodb_script_test, what_is_no_answer_of_dynamodb_is_an_error) {
  server_.answer(200, "<html>");
  const auto found = caller_->try_find(claim_of("k").id);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::store_unreachable);
  server_.answer(400, problem("ValidationException", "no such thing"));
  EXPECT_THAT(caller_->try_find(claim_of("k").id).error().detail, HasSubstr("no such thing"));
  server_.answer(403, problem("AccessDeniedException", "not authorized to perform PutItem"));
  const auto denied = caller_->try_claim(claim_of("k"));
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, errc::store_unreachable);
  EXPECT_THAT(denied.error().detail, HasSubstr("docs/dynamodb.md"));
}

TEST_F(dynamodb_script_test, what_is_read_is_never_an_older_state_of_the_table) {
  caller_->try_claim(claim_of("k"));
  static_cast<void>(caller_->try_find(claim_of("k").id));
  caller_->try_vitals();
  const auto reads = server_.requests("DynamoDB_20120810.GetItem");
  EXPECT_FALSE(reads.empty());
  for (const auto& each : reads) EXPECT_THAT(each, HasSubstr(R"("ConsistentRead":true)"));
}

TEST_F(dynamodb_script_test, a_poll_that_failed_leaves_the_count_to_the_next_one) {
  caller_->claim(claim_of("k"));
  const auto counts = [this] {
    server_.requests();
    static_cast<void>(caller_->try_vitals());
    return server_.requests("DynamoDB_20120810.UpdateItem").size();
  };
  server_.answer(400, problem("ValidationException", "not now"));
  EXPECT_EQ(counts(), 1u);
  EXPECT_EQ(counts(), 1u) << "what was granted would never be counted";
}

}  // namespace
}  // namespace onceguard::testing
