// A record of an earlier version, which took fewer of a request's fields for marks of its caller.
#include "engine/engine_fixture.hpp"

namespace onceguard {
namespace {

class former_marks_test : public engine_over_faults {
 protected:
  const std::vector<std::string> now{"all fields", "host:a", "x-client-id:7"};
  const std::vector<std::string> before{"host:a"};

  /// An operation that is found by both.
  operation arriving(std::span<const std::string> more, std::span<const std::string> earlier) {
    auto out = op();
    out.input.more = more;
    out.more_before = earlier;
    remake(out);
    return out;
  }
  static void remake(operation& one) {
    auto about = std::make_shared<subject>(*one.about);
    about->print = make_fingerprint(fingerprint_rule{}, one.input);
    one.about = std::move(about);
  }
};

TEST_F(former_marks_test, find_the_record_of_the_same_caller) {
  counted_work w;
  auto old = op();
  old.input.more = before;
  remake(old);
  EXPECT_EQ(execute(w, old).kind, outcome_kind::ran);
  EXPECT_EQ(execute(w, arriving(now, before)).kind, outcome_kind::replay);
  const std::vector<std::string> others{"host:b"};
  EXPECT_EQ(execute(w, arriving(now, others)).kind, outcome_kind::mismatch);
  EXPECT_EQ(w.runs, 1);
}

TEST_F(former_marks_test, find_no_record_of_this_version) {
  counted_work w;
  EXPECT_EQ(execute(w, arriving(now, before)).kind, outcome_kind::ran);
  EXPECT_EQ(execute(w, arriving(now, before)).kind, outcome_kind::replay);
  const std::vector<std::string> stranger{"all fields", "host:a", "x-client-id:8"};
  EXPECT_EQ(execute(w, arriving(stranger, before)).kind, outcome_kind::mismatch);
  EXPECT_EQ(w.runs, 1);
}

}  // namespace
}  // namespace onceguard
