// Behaviour of the SQLite store alone: files that it refuses, and processes that share one file.
#include <fstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rethrow.hpp"
#include "store/contract/acts.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {
namespace {

using sqlite::connection;
using sqlite::sqlite_params;
using sqlite::sqlite_store;
using ::testing::HasSubstr;

class sqlite_store_test : public ::testing::Test {
 protected:
  [[nodiscard]] sqlite_params params(const std::string& name = "store.db") const {
    sqlite_params out;
    out.path = folder_.file(name);
    out.clock = &clock_;
    return out;
  }
  std::unique_ptr<sqlite_store> open(const sqlite_params& sqlite) {
    auto opened = sqlite_store::open(sqlite);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  std::unique_ptr<sqlite_store> open() { return open(params()); }
  void expect_refused(const std::string& path, const std::string& why,
                      errc code = errc::invalid_argument) {
    auto value = params();
    value.path = path;
    const auto opened = sqlite_store::open(value);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, code);
    EXPECT_THAT(opened.error().detail, HasSubstr(why));
  }
  void remove_file() {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(folder_.file(std::string("store.db") + suffix));
    }
  }

  temporary_folder folder_;
  base::manual_clock clock_;
};

TEST_F(sqlite_store_test, a_file_that_is_no_onceguard_database_is_refused) {
  std::ofstream(folder_.file("text")) << std::string(4'096, 'x');
  expect_refused(folder_.file("text"), "is not a SQLite database");
  expect_refused(folder_.path().string(), "is a directory");
  expect_refused(folder_.file("missing/store.db"), "the directory", errc::store_unreachable);
  expect_refused("", "the path is empty");
  expect_refused(":memory:", "memory:");
  ::mkfifo(folder_.file("pipe").c_str(), 0600);
  expect_refused(folder_.file("pipe"), "is not a regular file");
  connection(folder_.file("other.db"), nullptr).run("CREATE TABLE theirs (x)");
  expect_refused(folder_.file("other.db"), "of another program");
}

/// The advice for pages of another size would have SQLite copy that log into the file.
TEST_F(sqlite_store_test, a_log_of_another_file_is_reported_before_pages_of_another_size) {
  const auto path = params().path;
  const auto made = folder_.file("made.db");
  const auto log = folder_.file("log");
  {
    const auto store = open();
    blocking_store(*store).completed(claim_of("k"));
    connection(path, nullptr).run(("PRAGMA page_size = 8192; VACUUM INTO '" + made + "'").c_str());
    blocking_store(*store).completed(claim_of("l"));
    std::filesystem::copy_file(path + "-wal", log);
    store->stop();
  }
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  std::filesystem::rename(made, path);
  std::filesystem::copy_file(log, path + "-wal");
  expect_refused(path, "the log beside it", errc::store_lost);
}

/// By VACUUM of another program. The log is read by itself, and its frames would stand elsewhere.
TEST_F(sqlite_store_test, pages_of_another_size_are_refused_until_they_are_rebuilt) {
  const auto path = params().path;
  const auto rebuilt = [](const std::string& file, int size) {
    connection shell(file, nullptr);
    shell.run("PRAGMA journal_mode = DELETE");
    shell.run(("PRAGMA page_size = " + std::to_string(size) + "; VACUUM").c_str());
    shell.run("PRAGMA journal_mode = WAL");
  };
  {
    const auto store = open();
    blocking_store(*store).completed(claim_of("k"));
    store->stop();
  }
  for (const int size : {512, 8'192, 65'536}) {
    rebuilt(path, size);
    expect_refused(path, "has pages of " + std::to_string(size) + " bytes");
    expect_refused(path, "PRAGMA page_size = 4096; VACUUM");
  }
  rebuilt(path, 4'096);
  const auto store = open();
  EXPECT_EQ(blocking_store(*store).claim(claim_of("k")).kind, verdict_kind::replay);
  const auto other = folder_.file("other.db");
  connection(other, nullptr)
      .run("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; CREATE TABLE theirs (a)");
  expect_refused(other, "is a SQLite database of another program");
}

TEST_F(sqlite_store_test, network_file_systems_are_recognised_by_their_magic_number) {
  EXPECT_EQ(network_file_system(0x6969), "NFS");
  EXPECT_EQ(network_file_system(0x65735546), "FUSE");
  EXPECT_EQ(network_file_system(static_cast<std::int32_t>(0xfe534d42)), "SMB2");
  EXPECT_EQ(network_file_system(0xef53), "");      // ext4
  EXPECT_EQ(network_file_system(0x01021994), "");  // tmpfs
}

TEST_F(sqlite_store_test, the_files_are_accessible_to_their_owner_only) {
  const auto store = open();
  for (const char* suffix : {"", "-wal"}) {
    struct stat about {};
    ASSERT_EQ(::stat((params().path + suffix).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u) << suffix;
  }
}

TEST_F(sqlite_store_test, the_registry_opens_a_sqlite_url) {
  store_params store;
  store.url = "sqlite:" + folder_.file("by url.db");
  store.clock = &clock_;
  const store_registry registry({&sqlite_store_kind()});
  const auto opened = registry.open(store);
  ASSERT_TRUE(opened);
  EXPECT_EQ((*opened)->traits().name, "sqlite");
  EXPECT_TRUE(std::filesystem::exists(folder_.file("by url.db")));
  store.url = "sqlite:";
  EXPECT_EQ(registry.open(store).error().code, errc::invalid_argument);
}

TEST_F(sqlite_store_test, two_stores_share_one_file) {
  const auto one = open();
  const auto other = open();
  blocking_store first(*one);
  blocking_store second_caller(*other);
  const auto request = claim_of("k");
  const auto held = first.leased(request);
  EXPECT_EQ(second_caller.claim(claim_of("k")).kind, verdict_kind::busy);
  first.settle(settle_of(request, held));
  EXPECT_EQ(second_caller.claim(claim_of("k")).kind, verdict_kind::replay);
  EXPECT_EQ(first.vitals().identity, second_caller.vitals().identity);
  EXPECT_GT(second_caller.leased(claim_of("other")).token, held.token);
}

TEST_F(sqlite_store_test, stores_on_several_threads_grant_each_key_once) {
  constexpr int keys = 60;
  const auto one = open();
  const auto other = open();
  std::atomic<int> leases{0};
  const auto claim_all = [&leases](store& records) {
    blocking_store caller(records);
    for (int i = 0; i < keys; ++i) {
      if (caller.claim(claim_of("k" + std::to_string(i))).kind == verdict_kind::run) ++leases;
    }
  };
  std::thread neighbour([&] { claim_all(*other); });
  claim_all(*one);
  neighbour.join();
  EXPECT_EQ(leases, keys);
}

TEST_F(sqlite_store_test, several_processes_share_one_file) {
  constexpr int keys = 60;
  constexpr int processes = 3;
  auto* const leases = static_cast<std::atomic<int>*>(
      ::mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = sqlite_store::open(params());
      if (!store) {
        std::fprintf(stderr, "%s\n", store.error().detail.c_str());
        ::_exit(1);
      }
      blocking_store caller(**store);
      for (int i = 0; i < keys; ++i) {
        if (caller.claim(claim_of("k" + std::to_string(i))).kind == verdict_kind::run) ++*leases;
      }
      (*store)->stop();
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const auto child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(leases->load(), keys);
  ::munmap(leases, 4'096);
}

TEST_F(sqlite_store_test, a_claim_times_out_without_effect_while_another_connection_has_the_lock) {
  const auto store = open();
  blocking_store caller(*store);
  connection neighbour(params().path, nullptr);
  neighbour.run("BEGIN IMMEDIATE");
  const auto request = claim_of("k");
  const auto verdict = caller.try_claim(request, milliseconds(50));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.error().code, errc::store_unreachable);
  EXPECT_EQ(verdict.error().effect, effect::none);
  EXPECT_FALSE(caller.find(request.id));  // reads still work
  neighbour.run("ROLLBACK");
  EXPECT_EQ(caller.claim(claim_of("k")).kind, verdict_kind::run);
}

TEST_F(sqlite_store_test, a_duplicate_in_the_same_batch_as_the_settle_gets_the_answer) {
  const auto store = open();
  blocking_store caller(*store);
  const auto request = claim_of("k");
  const auto held = caller.leased(request);
  caller.completed(claim_of("done"));
  // The duplicate and the settle are in one batch, the duplicate first.
  connection neighbour(params().path, nullptr);
  neighbour.run("BEGIN IMMEDIATE");
  boost::asio::io_context context;
  auto repeated = verdict_kind::run;
  const auto repeat = [&]() -> boost::asio::awaitable<void> {
    std::vector<claim> again(1, claim_of("k"));
    const auto verdict = co_await store->claim(std::move(again), patience);
    repeated = verdict.at(0).value().kind;
  };
  const auto settle = [&]() -> boost::asio::awaitable<void> {
    std::vector<settlement> done(1, settle_of(request, held));
    const auto verdict = co_await store->settle(std::move(done), patience);
    EXPECT_EQ(verdict.at(0).value().outcome, settle_outcome::done);
  };
  boost::asio::co_spawn(context, repeat(), base::rethrow);
  boost::asio::co_spawn(context, settle(), base::rethrow);
  context.poll();
  // A claim that needs no write is answered meanwhile. Its answer shows that the writer has taken
  // the earlier calls, too.
  EXPECT_EQ(caller.claim(claim_of("done")).kind, verdict_kind::replay);
  neighbour.run("ROLLBACK");
  context.run();
  EXPECT_EQ(repeated, verdict_kind::replay);
}

TEST_F(sqlite_store_test, opening_a_new_file_waits_for_a_lock_no_longer_than_the_timeout) {
  connection neighbour(params().path, nullptr);
  neighbour.run("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
  auto value = params();
  value.timeout = milliseconds(20);
  const auto opened = sqlite_store::open(value);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, errc::store_unreachable);
}

TEST_F(sqlite_store_test, tokens_still_grow_after_a_restart_with_an_older_copy) {
  auto store = open();
  blocking_store caller(*store);
  store->stop();
  store.reset();
  std::filesystem::copy_file(params().path, folder_.file("backup.db"));
  store = open();
  caller.move_to(*store);
  const auto last = caller.leased(claim_of("k"));
  store->stop();
  store.reset();
  remove_file();
  std::filesystem::copy_file(folder_.file("backup.db"), params().path);
  clock_.advance(second);
  store = open();
  caller.move_to(*store);
  EXPECT_GT(caller.leased(claim_of("k")).token, last.token);
}

TEST_F(sqlite_store_test, a_damaged_record_is_an_error_and_other_records_are_served) {
  auto store = open();
  blocking_store caller(*store);
  const auto request = claim_of("damaged");
  caller.completed(request);
  caller.completed(claim_of("whole"));
  connection(params().path, nullptr)
      .run("UPDATE records SET record = substr(record, 1, 40) WHERE id = 1");
  const auto reply = caller.claims({claim_of("damaged"), claim_of("whole")});
  ASSERT_FALSE(reply[0]);
  EXPECT_EQ(reply[0].error().code, errc::record_unreadable);
  EXPECT_EQ(reply[1]->kind, verdict_kind::replay);
  EXPECT_EQ(caller.try_find(request.id).error().code, errc::record_unreadable);
  EXPECT_EQ(caller.list().records.size(), 1u);
  EXPECT_EQ(caller.counted(observed_state::completed), 1u);
  EXPECT_EQ(caller.counts_of_all().unreadable, 1u);
}

TEST_F(sqlite_store_test, short_retention_keeps_the_file_bounded) {
  const auto store = open();
  blocking_store caller(*store);
  std::uintmax_t size_early = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<claim> claims;
    for (int i = 0; i < 200; ++i) {
      claims.push_back(claim_of(std::to_string(round) + "/" + std::to_string(i)));
    }
    const auto reply = caller.claims(claims);
    std::vector<settlement> settles;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      settles.push_back(settle_of(claims[i], reply[i]->lease));
      settles.back().retention = second;
    }
    caller.settles(settles);
    clock_.advance(second);
    EXPECT_EQ(caller.sweep(1'000), 200u);
    if (round == 5) size_early = std::filesystem::file_size(params().path);
  }
  EXPECT_LE(std::filesystem::file_size(params().path), size_early + size_early / 4 + 400'000);
  EXPECT_LE(std::filesystem::file_size(params().path + "-wal"), 24u << 20);
  EXPECT_EQ(caller.counted(observed_state::completed), 0u);
}

}  // namespace
}  // namespace onceguard::testing
