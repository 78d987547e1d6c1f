// What Onceguard's own processes have encrypted is refused to `execute` and onceguard.claim, which
// have no keys; what an operator gives for their keys is not encrypted.
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "execute/execute_fixture.hpp"
#include "execute/request.hpp"
#include "store/contract/acts.hpp"
#include "store/imported_record.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/sealed/sealed_answer.hpp"
#include "store/sealed/sealed_store.hpp"
#include "store/sqlite/application_store.hpp"

namespace onceguard::testing {
namespace {

using ::testing::HasSubstr;

class sealed_answers : public ::testing::Test {
 protected:
  sealed_answers() {
    std::ofstream(keys_) << "k1 " + std::string(64, 'a') << "\n";
    ::chmod(keys_.c_str(), 0600);
  }
  [[nodiscard]] std::unique_ptr<store> over(std::unique_ptr<store> records) const {
    return sealed::sealed_store::over(std::move(records), keys_).value();
  }
  /// Of a process of Onceguard.
  static settlement completion(const claim& request, const lease& held) {
    auto out = settle_of(request, held);
    out.answer = std::make_shared<const answer>(receipt("by a process"));
    return out;
  }
  static resolution by_an_operator(const record_id& id) {
    resolution out;
    out.id = id;
    out.completed = true;
    out.force = true;
    out.answer = std::make_shared<const answer>(receipt("by hand"));
    return out;
  }
  void refuses(till& till, const request& wanted, const std::string& reason = "the key \"k1\"") {
    for (int again = 0; again < 2; ++again) {
      const auto reply = till.execute(wanted, {}, [&](const lease&) {
        ADD_FAILURE() << "it ran again";
        return receipt();
      });
      ASSERT_FALSE(reply);
      EXPECT_EQ(reply.error().code, errc::record_unreadable);
      EXPECT_EQ(reply.error().effect, effect::none);
      EXPECT_FALSE(reply.error().retryable());
      EXPECT_THAT(reply.error().detail, HasSubstr("took effect"));
      EXPECT_THAT(reply.error().detail, HasSubstr(reason));
    }
  }
  static verdict replayed(till& till, const request& wanted) {
    return till.execute(wanted, {}, [](const lease&) { return receipt("ran again"); }).value();
  }

  temporary_folder folder_;
  const std::string keys_ = folder_.file("record-keys");
  const request order_{"ada", "order-1", "amount=5"};
};

class sealed_answers_in_postgres : public sealed_answers {
 protected:
  std::unique_ptr<store> open() {
    postgres::postgres_params params;
    params.url = database_.url();
    return postgres::postgres_store::open(params).value();
  }
  claim completed_by_a_process(const request& wanted) {
    auto request = onceguard::claim_of(wanted, {}, unknown_policy::hold);
    records_.settle(completion(request, records_.leased(request)));
    return request;
  }
  std::string row_of(const record_id& id) {
    return till_.run("SELECT r::text FROM onceguard.records r WHERE digest = '\\x" +
                     base::to_hex(id) + "'");
  }

  postgres_server& server_ = postgres_server::shared();
  postgres_database database_{server_};
  libpq_till till_{database_.url()};
  const std::unique_ptr<store> store_ = over(open());
  blocking_store records_{*store_};
};

TEST_F(sealed_answers_in_postgres, execute_and_sql_are_refused_what_a_process_encrypted) {
  const auto request = completed_by_a_process(order_);
  const auto before = row_of(request.id);
  refuses(till_, order_);
  const auto claim_of_amount = [](const std::string& amount) {
    return "SELECT verdict FROM onceguard.claim('ada', 'order-1', 'amount=" + amount + "')";
  };
  try {
    till_.run(claim_of_amount("5"));
    ADD_FAILURE() << "it was not refused";
  } catch (const postgres::statement_failed& failed) {
    EXPECT_EQ(failed.sqlstate(), "OG002");
    EXPECT_THAT(failed.what(), HasSubstr("is encrypted with the key \"k1\""));
  }
  EXPECT_EQ(till_.run(claim_of_amount("6")), "mismatch") << "says nothing of another request's";
  EXPECT_EQ(row_of(request.id), before);
  EXPECT_EQ(records_.claim(onceguard::claim_of(order_, {}, unknown_policy::hold)).answer->body,
            "by a process");
}

TEST_F(sealed_answers_in_postgres, the_library_looks_where_an_earlier_schema_does_not) {
  completed_by_a_process(order_);
  till_.run(
      "CREATE OR REPLACE FUNCTION onceguard.refuse_encrypted(outcome bytea) RETURNS void "
      "LANGUAGE sql AS ''");
  refuses(till_, order_);
}

TEST_F(sealed_answers_in_postgres, an_operators_answer_for_the_applications_key_is_legible_to_it) {
  till_.run("SELECT onceguard.abandon(lease) FROM onceguard.claim('ada', 'order-1', 'amount=5')");
  const auto id = onceguard::claim_of(order_, {}, unknown_policy::hold).id;
  ASSERT_EQ(records_.resolve(by_an_operator(id)).outcome, resolve_outcome::done);
  EXPECT_EQ(replayed(till_, order_).answer->body, "by hand");
  EXPECT_EQ(till_.run("SELECT convert_from(body, 'UTF8') FROM "
                      "onceguard.claim('ada', 'order-1', 'amount=5')"),
            "by hand");
}

TEST_F(sealed_answers_in_postgres, the_applications_own_answer_is_legible_to_it) {
  const auto request = onceguard::claim_of(order_, {}, unknown_policy::hold);
  auto completed = completion(request, records_.leased(request));
  completed.by_application = true;
  ASSERT_EQ(records_.settle(completed).outcome, settle_outcome::done);
  EXPECT_EQ(replayed(till_, order_).answer->body, "by a process");
}

TEST_F(sealed_answers_in_postgres, an_operators_answer_for_other_scopes_is_encrypted) {
  auto tenants = order_;
  tenants.scope_kind = "tenant";
  const auto request = onceguard::claim_of(tenants, {}, unknown_policy::hold);
  records_.leased(request);
  ASSERT_EQ(records_.resolve(by_an_operator(request.id)).outcome, resolve_outcome::done);
  const auto below = open();
  EXPECT_TRUE(sealed::is_sealed(*blocking_store(*below).seen(request.id).stored.answer));
  EXPECT_EQ(records_.seen(request.id).stored.answer->body, "by hand");
}

TEST_F(sealed_answers_in_postgres, an_import_leaves_legible_what_the_application_stored) {
  till_.execute(order_, {}, [](const lease&) { return receipt("by the application"); }).value();
  const auto request = completed_by_a_process({"ada", "order-2"});
  auto moved = make_imported_record(
      records_.seen(onceguard::claim_of(order_, {}, unknown_policy::hold).id), 0);
  auto other = make_imported_record(records_.seen(request.id), 0);
  till_.run("DELETE FROM onceguard.records");
  ASSERT_EQ(records_.import_record(moved), import_outcome::imported);
  ASSERT_EQ(records_.import_record(other), import_outcome::imported);
  EXPECT_EQ(replayed(till_, order_).answer->body, "by the application");
  refuses(till_, {"ada", "order-2"});
}

class sealed_answers_in_sqlite : public sealed_answers {
 protected:
  std::unique_ptr<store> open() {
    sqlite::sqlite_params params;
    params.path = path_;
    return sqlite::open_application_store(params).value();
  }

  const std::string path_ = folder_.file("shop.db");
  sqlite_till till_{path_};
  const std::unique_ptr<store> below_ = open();
  const std::unique_ptr<store> store_ = over(open());
  blocking_store records_{*store_};
};

TEST_F(sealed_answers_in_sqlite, execute_is_refused_what_was_moved_here_encrypted) {
  till_.run("CREATE TABLE charges (who TEXT)");
  till_.execute(order_, {}, [](const lease&) { return receipt(); }).value();
  const auto id = onceguard::claim_of(order_, {}, unknown_policy::hold).id;
  auto moved = make_imported_record(blocking_store(*below_).seen(id), 0);
  const auto ring = sealed::key_ring::read(keys_).value();
  moved.stored.answer = sealed::seal(receipt(), {id, moved.stored.token}, ring.active()).value();
  till_.run("DELETE FROM onceguard_records");
  ASSERT_EQ(records_.import_record(moved), import_outcome::imported);
  refuses(till_, order_);
  till_.begin_and_read("");
  refuses(till_, order_);
  till_.roll_back();
  EXPECT_EQ(
      till_.execute({"ada", "order-1", "amount=6"}, {}, [](const lease&) { return receipt(); })
          ->kind,
      verdict_kind::mismatch);
  EXPECT_EQ(records_.seen(id).stored.answer->body, receipt().body) << "it stays";
}

TEST_F(sealed_answers_in_sqlite, an_operators_answer_is_legible_to_the_application) {
  auto left = order_;
  left.scope_kind = "tenant";
  EXPECT_THROW(static_cast<void>(
                   till_.execute_steps(left, {}, [](steps&) -> answer { throw card_declined(); })),
               card_declined);
  const auto id = onceguard::claim_of(left, {}, unknown_policy::hold).id;
  ASSERT_EQ(records_.resolve(by_an_operator(id)).outcome, resolve_outcome::done);
  EXPECT_EQ(replayed(till_, left).answer->body, "by hand");
}

}  // namespace
}  // namespace onceguard::testing
