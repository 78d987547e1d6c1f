// What only SQLite can do to `execute`: its locks, its settings, its files.
#include <array>
#include <cerrno>
#include <future>

#include "execute/execute_fixture.hpp"
#include "support/waiting.hpp"

namespace onceguard::testing {
namespace {

class sqlite_execute : public ::testing::Test {
 protected:
  sqlite_execute() { run("CREATE TABLE charges (who TEXT)"); }

  std::string run(const std::string& statement) { return till_.run(statement); }
  [[nodiscard]] int charges(const std::string& customer) {
    return std::stoi(run(count_of(customer)));
  }
  static effect_work charging(sqlite_till& till, const std::string& customer,
                              const answer& gives = receipt()) {
    return [&till, customer, gives](const lease&) {
      till.charge(customer);
      return gives;
    };
  }

  temporary_folder folder_;
  const std::string path_ = folder_.file("shop.db");
  sqlite_till till_{path_};
  const request order_{"ada", "order-1"};
};

TEST_F(sqlite_execute, missing_tables_are_created_and_others_are_left_alone) {
  run("PRAGMA user_version = 7; PRAGMA application_id = 8");
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada"))->kind, verdict_kind::run);
  EXPECT_EQ(run("PRAGMA user_version") + run("PRAGMA application_id"), "78");
  EXPECT_EQ(run("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                "name LIKE 'onceguard_%'"),
            "4");
}

TEST_F(sqlite_execute, prepare_creates_the_tables_and_may_be_repeated) {
  ASSERT_TRUE(sqlite::prepare(till_.on()));
  ASSERT_TRUE(sqlite::prepare(till_.on()));
  run("BEGIN");
  ASSERT_TRUE(sqlite::prepare(till_.on()));
  run("ROLLBACK");
  EXPECT_EQ(run("SELECT count(*) FROM onceguard_meta"), "1");
}

TEST_F(sqlite_execute, an_exception_undoes_the_tables_too) {
  const auto failing = [](const lease&) -> answer { throw card_declined(); };
  EXPECT_THROW(static_cast<void>(till_.execute(order_, {}, failing)), card_declined);
  EXPECT_EQ(run("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'onceguard_%'"), "0");
}

TEST_F(sqlite_execute, tables_of_a_newer_version_are_left_alone) {
  ASSERT_TRUE(sqlite::prepare(till_.on()));
  run("UPDATE onceguard_meta SET version = 4");
  const auto reply = till_.execute(order_, {}, charging(till_, "ada"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::invalid_argument);
  EXPECT_EQ(charges("ada"), 0);
}

TEST_F(sqlite_execute, tables_of_an_older_version_are_brought_up_to_date) {
  ASSERT_TRUE(sqlite::prepare(till_.on()));
  const auto identity = run("SELECT identity FROM onceguard_meta");
  run("UPDATE onceguard_meta SET version = 1");
  till_.execute(order_, {}, charging(till_, "ada")).value();
  EXPECT_EQ(run("SELECT version FROM onceguard_meta"), "3");
  EXPECT_EQ(run("SELECT identity FROM onceguard_meta"), identity);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(sqlite_execute, the_commit_is_flushed_whatever_the_connection_usually_does) {
  std::string seen;
  const auto looking = [&](const lease&) {
    seen = run("PRAGMA synchronous");
    return receipt();
  };
  for (const auto* usual : {"0", "1", "2", "3"}) {
    run(std::string("PRAGMA synchronous = ") + usual);
    till_.execute({"ada", usual}, {}, looking).value();
    EXPECT_EQ(seen, std::string(usual) < "2" ? "2" : usual);
    EXPECT_EQ(run("PRAGMA synchronous"), usual);
  }
}

TEST_F(sqlite_execute, a_replay_needs_no_lock_in_wal_mode) {
  run("PRAGMA journal_mode = WAL");
  till_.execute(order_, {}, charging(till_, "ada")).value();
  sqlite_till writing(path_);
  writing.run("BEGIN IMMEDIATE; INSERT INTO charges VALUES ('bob')");
  execute_policy reject = reported_at_once();
  EXPECT_EQ(till_.execute(order_, reject, charging(till_, "ada"))->kind, verdict_kind::replay);
  EXPECT_EQ(till_.execute({"ada", "new"}, reject, charging(till_, "ada"))->kind,
            verdict_kind::busy);
  writing.run("COMMIT");
  EXPECT_EQ(till_.execute({"ada", "new"}, reject, charging(till_, "ada"))->kind, verdict_kind::run);
}

TEST_F(sqlite_execute, readers_that_hold_up_the_commit_are_waited_for) {
  sqlite_till reading(path_);
  reading.run("BEGIN; SELECT count(*) FROM charges");
  auto reply = std::async(std::launch::async,
                          [&] { return till_.execute(order_, {}, charging(till_, "ada")); });
  // While a commit waits for the readers, no other one gets in.
  sqlite_till late(path_);
  wait_until("the commit", [&] {
    if (reply.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return true;
    try {
      late.run("SELECT count(*) FROM charges");
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  });
  reading.run("COMMIT");
  EXPECT_EQ(reply.get()->kind, verdict_kind::run);
  reading.run("BEGIN; SELECT count(*) FROM charges");
  const auto refused = till_.execute({"ada", "k"}, reported_at_once(), charging(till_, "ada"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::write_conflict);
  EXPECT_EQ(refused.error().effect, effect::none);
  reading.run("COMMIT");
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(sqlite_execute, what_steps_gave_goes_with_the_completion) {
  const auto kept = [&] {
    return run("SELECT count(*) FROM onceguard_records WHERE progress IS NOT NULL OR step NOTNULL");
  };
  const auto pay = [](steps& flow) { return flow.step("pay", [] { return std::string("17"); }); };
  const steps_work fails = [&](steps& flow) -> answer {
    pay(flow);
    throw card_declined();
  };
  EXPECT_THROW(static_cast<void>(till_.execute_steps(order_, {}, fails)), card_declined);
  EXPECT_EQ(kept(), "1");
  const auto whole = [&](steps& flow) { return receipt(pay(flow)); };
  EXPECT_EQ(till_.execute_steps(order_, {}, whole)->kind, verdict_kind::run);
  EXPECT_EQ(kept(), "0");
}

TEST_F(sqlite_execute, nothing_is_done_on_a_full_disk_until_there_is_room) {
  ASSERT_TRUE(sqlite::prepare(till_.on()));
  run("PRAGMA max_page_count = 64");
  const answer large{200, {}, std::string(1u << 20, 'x')};
  const auto reply = till_.execute(order_, {}, charging(till_, "ada", large));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::store_full);
  EXPECT_EQ(reply.error().effect, effect::none);
  EXPECT_EQ(charges("ada"), 0);
  run("PRAGMA max_page_count = 100000");
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada", large))->kind, verdict_kind::run);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(sqlite_execute, work_that_ends_its_transaction_is_an_error) {
  const auto reply = till_.execute(order_, {}, [&](const lease&) {
    run("ROLLBACK");
    return receipt();
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::conflict);
  const auto begun = till_.execute(order_, {}, [&](const lease&) {
    run("ROLLBACK; BEGIN");
    till_.charge("ada");
    return receipt();
  });
  EXPECT_FALSE(begun) << "its claim is gone";
  EXPECT_EQ(charges("ada"), 0);
}

TEST_F(sqlite_execute, a_step_that_ends_its_transaction_is_not_recorded) {
  const auto reply = till_.execute_steps(order_, {}, [&](steps& flow) {
    flow.step("pay", [&] {
      run("ROLLBACK");
      return std::string();
    });
    return receipt();
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::conflict);
  EXPECT_EQ(reply.error().effect, effect::unknown) << "what it did outside is there";
  EXPECT_EQ(run("SELECT count(*) FROM onceguard_records WHERE step IS NOT NULL"), "0");
}

/// As long as it lives, SQLite can write no file.
class no_writes {
 public:
  no_writes() {
    set(reinterpret_cast<sqlite3_syscall_ptr>(+[](int, const void*, std::size_t) {
      errno = EIO;
      return ssize_t{-1};
    }));
  }
  ~no_writes() { set(nullptr); }
  no_writes(const no_writes&) = delete;
  no_writes& operator=(const no_writes&) = delete;

 private:
  static void set(sqlite3_syscall_ptr call) {
    auto* const files = sqlite3_vfs_find(nullptr);
    for (const auto* name : {"write", "pwrite", "pwrite64"}) {
      files->xSetSystemCall(files, name, call);
    }
  }
};

TEST_F(sqlite_execute, a_commit_that_broke_may_have_been_carried_out) {
  run("PRAGMA journal_mode = WAL");
  ASSERT_TRUE(sqlite::prepare(till_.on()));
  {
    std::optional<no_writes> broken;
    const auto reply = till_.execute(order_, {}, [&](const lease&) {
      till_.charge("ada");
      broken.emplace();
      return receipt();
    });
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, errc::store_unreachable);
    EXPECT_EQ(reply.error().effect, effect::unknown) << "a flush that failed says nothing";
  }
  EXPECT_TRUE(till_.execute(order_, {}, charging(till_, "ada")));
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(sqlite_execute, a_constraint_that_was_put_off_refuses_the_commit) {
  run("PRAGMA foreign_keys = ON; CREATE TABLE people (name TEXT PRIMARY KEY);"
      "CREATE TABLE owed (who TEXT REFERENCES people DEFERRABLE INITIALLY DEFERRED)");
  const auto reply = till_.execute(order_, {}, [&](const lease&) {
    run("INSERT INTO owed VALUES ('nobody')");
    return receipt();
  });
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::conflict);
  EXPECT_EQ(reply.error().effect, effect::none);
  EXPECT_EQ(run("SELECT count(*) FROM owed"), "0");
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada"))->kind, verdict_kind::run);
}

TEST_F(sqlite_execute, a_record_that_cannot_be_read_is_never_taken_for_absent) {
  till_.execute(order_, {}, charging(till_, "ada")).value();
  run("UPDATE onceguard_records SET record = CAST(x'01' || substr(record, 3) AS BLOB)");
  const auto reply = till_.execute(order_, {}, charging(till_, "ada"));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, errc::record_unreadable);
  EXPECT_EQ(charges("ada"), 1);
}

TEST_F(sqlite_execute, what_outlived_its_retention_goes_and_the_key_is_new) {
  execute_policy brief;
  brief.retention = milliseconds(1);
  till_.execute(order_, brief, charging(till_, "ada")).value();
  // A slow execute may have swept it away by itself.
  while (run("SELECT count(*) FROM onceguard_records") != "0") {
    EXPECT_LE(sqlite::sweep(till_.on(), 10).value(), 1u);
  }
  EXPECT_EQ(till_.execute(order_, {}, charging(till_, "ada"))->kind, verdict_kind::run);
  EXPECT_EQ(sqlite::sweep(till_.on(), 10).value(), 0u);
}

TEST_F(sqlite_execute, each_run_sweeps_a_little) {
  execute_policy brief;
  brief.retention = milliseconds(1);
  for (const auto* key : {"a", "b", "c"}) {
    till_.execute({"ada", key}, brief, charging(till_, "ada")).value();
  }
  for (int n = 0; std::stoi(run("SELECT count(*) FROM onceguard_records WHERE expires_at < "
                                "(SELECT last_wall + 1000 FROM onceguard_meta)")) > 0;
       ++n) {
    till_.execute({"bob", std::to_string(n)}, {}, charging(till_, "bob")).value();
  }
}

TEST_F(sqlite_execute, an_older_copy_of_the_database_gives_no_token_twice) {
  token last = 0;
  const auto noting = [&](const lease& held) {
    last = held.token;
    return receipt();
  };
  till_.execute(order_, {}, noting).value();
  run("UPDATE onceguard_meta SET token = 0");
  const auto before = last;
  till_.execute({"ada", "k"}, {}, noting).value();
  EXPECT_GT(last, before);
}

}  // namespace
}  // namespace onceguard::testing
