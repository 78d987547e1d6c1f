// A store and the pepper of its keys: whose keys may meet whose.
#include "store/pepper.hpp"

#include <fstream>
#include <string>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/contract/acts.hpp"
#include "store/imported_record.hpp"
#include "store/memory/memory_store.hpp"
#include "store/sealed/sealed_answer.hpp"
#include "store/sealed/sealed_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard {
namespace {

using namespace onceguard::testing;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string first_secret(32, 'p');
const std::string second_secret(40, 'q');

/// A store whose calls are seen, and fail if they shall.
class watched_store final : public forwarding_store {
 public:
  explicit watched_store(store& below) : below_(below) {}
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override {
    listed_within = timeout;
    if (damaged) co_return *damaged;
    co_return co_await below_.list(std::move(filter), std::move(cursor), limit, timeout);
  }
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds timeout) override {
    found_within = timeout;
    if (find_fails) co_return *find_fails;
    co_return co_await below_.find(id, timeout);
  }

  std::optional<list_page> damaged;
  std::optional<error> find_fails;
  milliseconds listed_within{0};
  milliseconds found_within{0};

 private:
  [[nodiscard]] result<store*> target() const override { return &below_; }
  store& below_;
};

class pepper_test : public ::testing::Test {
 protected:
  ~pepper_test() override { use(""); }

  [[nodiscard]] std::string written(const std::string& text, mode_t mode = 0600) {
    auto path = folder_.file("pepper-" + std::to_string(++files_));
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  [[nodiscard]] std::string fault_of(const std::string& text, mode_t mode = 0600) {
    const auto read = read_pepper(written(text, mode));
    return read ? std::string() : read.error().detail;
  }
  /// As a process does at its start.
  void use(const std::string& secret) {
    ASSERT_TRUE(use_pepper(secret.empty() ? secret : written(secret)));
  }
  [[nodiscard]] std::string refusal(mark_rule rule = mark_rule::make) {
    const auto checked = check_pepper(below_, patience, rule);
    if (checked) return {};
    EXPECT_EQ(checked.error().code, errc::invalid_argument);
    return checked.error().detail;
  }
  void complete(const std::string& key) {
    const auto wanted = claim_of(key);
    kept_.settle(settle_of(wanted, kept_.claim(wanted).lease));
  }
  [[nodiscard]] imported_record exported(const std::string& key) {
    memory_store elsewhere(clock_);
    blocking_store there(elsewhere);
    const auto wanted = claim_of(key);
    there.settle(settle_of(wanted, there.claim(wanted).lease));
    return make_imported_record(there.seen(wanted.id), clock_.wall_ms());
  }

  temporary_folder folder_;
  int files_ = 0;
  base::manual_clock clock_;
  memory_store below_{clock_};
  blocking_store kept_{below_};
};

TEST_F(pepper_test, a_file_says_what_is_wrong_and_never_its_secret) {
  EXPECT_EQ(fault_of(first_secret), "");
  EXPECT_EQ(fault_of(first_secret + "\r\n"), "");
  EXPECT_THAT(fault_of(first_secret, 0604), HasSubstr("chmod o-rwx"));
  const auto fault = fault_of(std::string(31, 'p') + "\n");
  EXPECT_THAT(fault, HasSubstr("at least 32 bytes"));
  EXPECT_THAT(fault, Not(HasSubstr("ppp")));
  EXPECT_THAT(read_pepper(folder_.file("none")).error().detail, HasSubstr("can't be read"));
  EXPECT_EQ(*read_pepper(written(first_secret)).value(),
            *read_pepper(written(first_secret + "\n")).value());
}

TEST_F(pepper_test, a_store_is_for_the_pepper_that_it_was_begun_with) {
  use(first_secret);
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(refusal(), "");
  use(second_secret);
  EXPECT_THAT(refusal(), HasSubstr("another pepper"));
  use("");
  EXPECT_THAT(refusal(), HasSubstr("with a pepper"));
  use(first_secret);
  clock_.advance(milliseconds(std::chrono::hours(24 * 365 * 20)));
  EXPECT_EQ(refusal(), "");
  use("");
  EXPECT_THAT(refusal(mark_rule::compare), HasSubstr("with a pepper")) << "nor years later";
}

TEST_F(pepper_test, who_only_looks_makes_no_mark) {
  use(first_secret);
  EXPECT_EQ(refusal(mark_rule::compare), "");
  EXPECT_FALSE(kept_.find(pepper_mark_id()));
}

TEST_F(pepper_test, a_mark_that_a_crash_left_half_made_is_made_again) {
  use(first_secret);
  ASSERT_EQ(refusal(), "");
  const auto about = kept_.seen(pepper_mark_id()).stored.about;
  memory_store crashed(clock_);
  blocking_store there(crashed);
  claim begun;
  begun.id = pepper_mark_id();
  begun.about = about;
  base::random_bytes(begun.claim_id);
  ASSERT_EQ(there.claim(begun).kind, verdict_kind::run);
  clock_.advance(milliseconds(60'000));
  ASSERT_TRUE(check_pepper(crashed, patience, mark_rule::make));
  EXPECT_EQ(there.seen(pepper_mark_id()).state, observed_state::completed);
}

TEST_F(pepper_test, what_else_lies_at_the_id_of_the_mark_closes_no_store) {
  auto laid = claim_of("onceguard-pepper");
  laid.id = pepper_mark_id();
  kept_.settle(settle_of(laid, kept_.claim(laid).lease));
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(refusal(mark_rule::compare), "");
  use(first_secret);
  EXPECT_NE(refusal(), "") << "it is a key in the clear";
}

TEST_F(pepper_test, is_not_turned_on_over_keys_in_the_clear) {
  complete("order-17");
  use(first_secret);
  EXPECT_THAT(refusal(), HasSubstr("in the clear"));
  EXPECT_FALSE(kept_.find(pepper_mark_id()));
}

TEST_F(pepper_test, is_not_turned_on_over_what_can_not_be_read) {
  use(first_secret);
  watched_store over(below_);
  over.damaged.emplace();
  over.damaged->unreadable.push_back({record_id{1}, "torn"});
  EXPECT_THAT(check_pepper(over, patience, mark_rule::make).error().detail,
              HasSubstr("can't be read"));
}

TEST_F(pepper_test, a_look_through_a_big_store_gets_more_time_than_a_call) {
  use(first_secret);
  watched_store over(below_);
  ASSERT_TRUE(check_pepper(over, milliseconds(2'000), mark_rule::make));
  EXPECT_GE(over.listed_within, milliseconds(60'000));
  EXPECT_EQ(over.found_within, milliseconds(2'000));
}

TEST_F(pepper_test, a_mark_that_can_not_be_read_keeps_out_only_those_who_claim) {
  watched_store over(below_);
  over.find_fails.emplace(errc::record_unreadable, "torn");
  EXPECT_TRUE(check_pepper(over, patience, mark_rule::compare));
  EXPECT_FALSE(check_pepper(over, patience, mark_rule::make));
  over.find_fails->code = errc::store_unreachable;
  EXPECT_FALSE(check_pepper(over, patience, mark_rule::compare));
}

TEST_F(pepper_test, a_store_that_lost_its_mark_alone_gets_it_again) {
  use(first_secret);
  complete(core::kept_key("order-17"));
  EXPECT_EQ(refusal(), "");
}

class kept_records_test : public pepper_test {
 protected:
  /// Over the store below, as processes open it.
  blocking_store open() {
    class borrowed final : public forwarding_store {
     public:
      explicit borrowed(store& below) : below_(below) {}
      void stop() override {}

     private:
      [[nodiscard]] result<store*> target() const override { return &below_; }
      store& below_;
    };
    opened_ = sealed::sealed_store::over(std::make_unique<borrowed>(below_), "").value();
    return blocking_store(*opened_);
  }

  std::unique_ptr<store> opened_;
};

TEST_F(kept_records_test, the_mark_is_not_listed_and_nobody_ends_it) {
  use(first_secret);
  ASSERT_EQ(refusal(), "");
  auto records = open();
  EXPECT_TRUE(records.list().records.empty());
  resolution by_hand;
  by_hand.id = pepper_mark_id();
  by_hand.force = true;
  EXPECT_THAT(records.try_resolve(by_hand).error().detail, HasSubstr("mark"));
  EXPECT_TRUE(kept_.find(pepper_mark_id()));
}

/// What a file has, as `keys import` takes it.
class imported_keys_test : public kept_records_test {
 protected:
  [[nodiscard]] imported_record mark_of(const std::string& secret) {
    use(secret);
    memory_store elsewhere(clock_);
    EXPECT_TRUE(check_pepper(elsewhere, patience, mark_rule::make));
    blocking_store there(elsewhere);
    return make_imported_record(there.seen(pepper_mark_id()), clock_.wall_ms());
  }
  /// A record, and why it does not come in; "": it does, as `one` is then.
  [[nodiscard]] std::string refused(imported_record& one) const {
    const auto kept = keys_.keep(one);
    return kept ? std::string() : kept.error().detail;
  }
  [[nodiscard]] std::string file_refused() const {
    const auto fits = keys_.fit();
    return fits ? std::string() : fits.error().detail;
  }

  imported_keys keys_;
};

TEST_F(imported_keys_test, a_key_that_comes_in_clear_is_kept_with_the_pepper) {
  use(first_secret);
  auto records = open();
  auto clear = exported("order-17");
  ASSERT_EQ(refused(clear), "");
  EXPECT_EQ(records.import_record(clear), import_outcome::imported);
  EXPECT_EQ(records.import_record(clear), import_outcome::already_there);
  const auto again = claim_of(core::kept_key("order-17"));
  const auto found = kept_.claim(again);
  ASSERT_EQ(found.kind, verdict_kind::replay);
  EXPECT_EQ(*found.answer, *answer_of());
  EXPECT_EQ(kept_.seen(again.id).stored.about->key, core::kept_key("order-17"));
  EXPECT_FALSE(kept_.find(claim_of("order-17").id));
}

TEST_F(imported_keys_test, an_answer_that_is_bound_to_the_clear_key_does_not_come_in) {
  use(first_secret);
  auto bound = exported("order-17");
  auto sealed_one = std::make_shared<answer>(*bound.stored.answer);
  sealed_one->headers = {{"onceguard sealed", "1 1 k1"}};
  bound.stored.answer = sealed_one;
  ASSERT_TRUE(sealed::is_sealed(*sealed_one));
  EXPECT_THAT(refused(bound), HasSubstr("encrypted"));
}

TEST_F(imported_keys_test, what_is_kept_comes_in_as_it_is_where_its_pepper_is) {
  auto mark = mark_of(first_secret);
  auto kept = exported(core::kept_key("order-17"));
  const auto id = kept.id;
  keys_.note(kept);
  keys_.note(mark);
  EXPECT_EQ(file_refused(), "");
  EXPECT_EQ(refused(kept), "");
  EXPECT_EQ(kept.id, id);
  ASSERT_EQ(refused(mark), "");
  ASSERT_EQ(refusal(), "");
  EXPECT_EQ(open().import_record(mark), import_outcome::already_there);
}

TEST_F(imported_keys_test, a_file_of_another_pepper_is_refused_as_a_whole) {
  keys_.note(mark_of(first_secret));
  use(second_secret);
  EXPECT_THAT(file_refused(), HasSubstr("another pepper"));
  use("");
  EXPECT_THAT(file_refused(), HasSubstr("with a pepper"));
}

TEST_F(imported_keys_test, a_kept_form_without_a_mark_does_not_come_in) {
  use(first_secret);
  auto kept = exported(core::kept_key("order-17"));
  keys_.note(kept);
  EXPECT_EQ(file_refused(), "");
  EXPECT_THAT(refused(kept), HasSubstr("no mark"));
  use("");
  EXPECT_THAT(refused(kept), HasSubstr("no mark"));
  auto clear = exported("order-18");
  EXPECT_EQ(refused(clear), "");
}

TEST_F(imported_keys_test, a_record_whose_key_nobody_knows_comes_in_only_from_the_same_pepper) {
  auto unknown = exported("order-17");
  const auto id = unknown.id;
  unknown.stored.about = std::make_shared<subject>();
  EXPECT_EQ(refused(unknown), "");
  keys_.note(unknown);
  use(first_secret);
  EXPECT_THAT(refused(unknown), HasSubstr("nothing says what its key is"));
  keys_.note(mark_of(first_secret));
  EXPECT_EQ(refused(unknown), "");
  EXPECT_EQ(unknown.id, id);
}

TEST_F(imported_keys_test, a_key_that_an_application_claims_itself_does_not_come_in) {
  use(first_secret);
  const auto is_refused = [&](auto&& change) {
    auto one = exported("order-17");
    auto about = std::make_shared<subject>(*one.stored.about);
    about->scope_kind = "header:X-Tenant";
    about->print.method = "bytes";
    one.stored.by_application = true;
    change(one, *about);
    one.stored.about = std::move(about);
    return refused(one).find("an application") != std::string::npos;
  };
  EXPECT_FALSE(is_refused([](auto&, auto&) {})) << "a gateway has claimed it";
  EXPECT_TRUE(is_refused([](auto&, auto& about) { about.scope_kind = "application:jobs"; }));
  EXPECT_TRUE(is_refused([](auto&, auto& about) { about.print.method = "application"; }));
  EXPECT_TRUE(is_refused([](auto& one, auto&) { one.recovery.emplace(); }));
}

}  // namespace
}  // namespace onceguard
