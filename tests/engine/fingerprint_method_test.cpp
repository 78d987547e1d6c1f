// Records whose fingerprint was made of less, by an earlier version, and what a mismatch tells.
#include <onceguard/fingerprint.hpp>

#include "engine/engine_fixture.hpp"

namespace onceguard {
namespace {

class fingerprint_method_test : public engine_over_faults {
 protected:
  static constexpr std::string_view body = R"({"amount":1})";

  /// A request to this host with this body, as a version makes its fingerprint.
  operation request(fingerprint_head head, std::string_view host, std::string_view sent = body,
                    std::string_view type = "application/json") {
    auto out = op();
    out.input.method = "POST";
    out.input.path = "/pay";
    out.input.content_type = type;
    out.input.body = sent;
    out.input.host = host;
    auto about = std::make_shared<subject>(*out.about);
    fingerprint_rule rule;
    rule.head = head;
    about->print = make_fingerprint(rule, out.input);
    out.about = std::move(about);
    return out;
  }
  operation before(std::string_view host, std::string_view sent = body) {
    return request(fingerprint_head::none, host, sent);
  }
  operation now(std::string_view host, std::string_view sent = body) {
    return request(fingerprint_head::named, host, sent);
  }
  counted_work work;
};

TEST_F(fingerprint_method_test, a_record_of_before_answers_its_repeat) {
  EXPECT_EQ(execute(work, before("a")).kind, outcome_kind::ran);
  EXPECT_EQ(execute(work, now("a")).kind, outcome_kind::replay);
  EXPECT_EQ(work.runs, 1);
}

TEST_F(fingerprint_method_test, of_a_record_of_before_nobody_knows_the_work) {
  EXPECT_EQ(execute(work, before("a")).kind, outcome_kind::ran);
  const auto got = execute(work, now("a", R"({"amount":2})"));
  EXPECT_EQ(got.kind, outcome_kind::mismatch);
  EXPECT_FALSE(got.other_work);
}

TEST_F(fingerprint_method_test, a_mismatch_tells_whether_the_work_is_another) {
  EXPECT_EQ(execute(work, now("a")).kind, outcome_kind::ran);
  const auto host = execute(work, now("b"));
  EXPECT_EQ(host.kind, outcome_kind::mismatch);
  EXPECT_FALSE(host.other_work);
  const auto amount = execute(work, now("a", R"({"amount":2})"));
  EXPECT_EQ(amount.kind, outcome_kind::mismatch);
  EXPECT_TRUE(amount.other_work);
  const auto unreadable = execute(
      work, request(fingerprint_head::named, "a", "no parts", "multipart/form-data; boundary=x"));
  EXPECT_EQ(unreadable.kind, outcome_kind::mismatch);
  EXPECT_FALSE(unreadable.other_work) << "it may be the same in another writing";
  EXPECT_EQ(work.runs, 1);
}

}  // namespace
}  // namespace onceguard
