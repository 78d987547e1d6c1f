// The store engines on which the contract suites run, and what a suite needs to know of each.
#pragma once
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include <onceguard/store.hpp>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "store/dynamodb/table.hpp"
#include "store/journal/files.hpp"
#include "store/journal/journal_store.hpp"
#include "store/memory/memory_store.hpp"
#include "store/postgres/database.hpp"
#include "store/postgres/postgres_store.hpp"
#include "store/redis/commands/keyspace.hpp"
#include "store/redis/redis_store.hpp"
#include "store/sealed/sealed_store.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/staleness.hpp"
#include "store/tiered/tiered_store.hpp"
#include "support/certificate.hpp"
#include "support/manual_clock.hpp"
#include "support/pgbouncer.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_sentinels.hpp"
#include "support/redis_server.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class store_delegate {
 public:
  store_delegate() = default;
  virtual ~store_delegate() = default;
  [[nodiscard]] virtual std::unique_ptr<store> open() = 0;
  /// Does the store keep its records when it is reopened?
  [[nodiscard]] virtual bool remembers() const = 0;
  /// How long an answer may be served from memory, where that may be less than its retention.
  [[nodiscard]] virtual milliseconds memory_limit() const { return milliseconds::max(); }
  /// Changes a byte of a record, without the store.
  virtual void damage(const record_id&) { throw std::logic_error("can't be damaged here"); }

  base::manual_clock clock;

 protected:
  explicit store_delegate(std::int64_t both_clocks) : clock(both_clocks) {}
};

class memory_delegate : public store_delegate {
 public:
  [[nodiscard]] std::unique_ptr<store> open() override {
    return std::make_unique<memory_store>(clock);
  }
  [[nodiscard]] bool remembers() const override { return false; }
};

class sqlite_delegate : public store_delegate {
 public:
  [[nodiscard]] std::unique_ptr<store> open() override {
    sqlite::sqlite_params params;
    params.path = folder_.file("store.db");
    params.clock = &clock;
    auto opened = sqlite::sqlite_store::open(params);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  [[nodiscard]] bool remembers() const override { return true; }
  void damage(const record_id& id) override {
    sqlite::connection(folder_.file("store.db"), nullptr)
        .run(("UPDATE records SET record = CAST(substr(record, 1, 20) || "
              "CASE substr(record, 21, 1) WHEN x'7f' THEN x'00' ELSE x'7f' END || "
              "substr(record, 22) AS BLOB) WHERE digest = x'" +
              base::to_hex(id) + "'")
                 .c_str());
  }

 private:
  temporary_folder folder_;
};

/// With short segments. `cache_size` 0: each record is read from its file.
class journal_delegate : public store_delegate {
 public:
  explicit journal_delegate(std::size_t cache_size = 0)
      : store_delegate(1'700'000'000'000), cache_size_(cache_size) {}
  [[nodiscard]] std::unique_ptr<store> open() override {
    journal::journal_params params;
    params.path = folder_.file("journal");
    params.clock = &clock;
    params.segment_size = 8'192;
    params.cache_size = cache_size_;
    return journal::journal_store::open(params).value();
  }
  [[nodiscard]] bool remembers() const override { return true; }
  void damage(const record_id& id) override {
    const journal_files files(folder_.file("journal"));
    files.flip(files.latest_frame_of(id), journal::frame_header_size + 20);
  }

 private:
  const std::size_t cache_size_;
  temporary_folder folder_;
};

/// PostgreSQL. The database's clock is a row that follows the test's clock; leases and retention
/// both run by the database's clock.
class postgres_delegate : public store_delegate {
 public:
  /// `pooled`: the store reaches the database through PgBouncer.
  explicit postgres_delegate(bool pooled = false)
      : store_delegate(postgres_database::beginning),
        url_(pooled ? pgbouncer::shared().url("onceguard") : database_.url()) {
    database_.set_clock(clock.wall_ms());
    clock.on_move([this] { database_.set_clock(clock.wall_ms()); });
  }
  [[nodiscard]] std::unique_ptr<store> open() override {
    postgres::postgres_params params;
    params.url = url_;
    params.clock = &clock;
    params.timeout = milliseconds(10'000);
    params.connections = 2;
    auto opened = postgres::postgres_store::open(params);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  [[nodiscard]] bool remembers() const override { return true; }
  void damage(const record_id& id) override {
    database_.admin().run(
        "UPDATE onceguard.records SET subject = set_byte(subject, 20, get_byte(subject, 20) # 4)"
        " WHERE digest = '\\x" +
        base::to_hex(id) + "'");
  }

 private:
  postgres_database database_;
  const std::string url_;
};

inline std::unique_ptr<store> open_redis(const std::string& url, const base::clock& clock,
                                         bool copies_only = false) {
  redis::redis_params params;
  params.url = url;
  params.clock = &clock;
  params.timeout = milliseconds(10'000);
  params.copies_only = copies_only;
  auto opened = redis::redis_store::open(params);
  if (!opened) throw std::runtime_error(opened.error().detail);
  return std::move(*opened);
}

/// A Redis server whose clock follows the test's clock. The server's TTLs and scripts run by this
/// clock.
class redis_delegate : public store_delegate {
 public:
  redis_delegate() : redis_delegate(shared(), shared().url()) {}
  [[nodiscard]] std::unique_ptr<store> open() override { return open_redis(url_, clock); }
  [[nodiscard]] bool remembers() const override { return true; }
  void damage(const record_id& id) override {
    const redis::keyspace names("onceguard:", false);
    const auto name = names.before_record(id) + std::string(base::as_chars(id));
    auto admin = server_.session();
    auto bytes = admin.run({"GET", name});
    bytes.at(20) = static_cast<char>(bytes.at(20) ^ 4);
    admin.run({"SET", name, bytes, "KEEPTTL"});
  }

 protected:
  redis_delegate(redis_server& server, std::string url)
      : store_delegate(beginning), server_(server), url_(std::move(url)) {
    server_.session().run({"FLUSHALL"});
    server_.set_clock(beginning);
    clock.on_move([this] { server_.set_clock(clock.wall_ms()); });
  }

 private:
  static constexpr std::int64_t beginning = 1'700'000'000'000;
  static redis_server& shared() {
    static redis_server all({}, true);
    return all;
  }

  redis_server& server_;
  const std::string url_;
};

/// Redis through TLS, as a user who has only the permissions that docs/redis.md lists.
class redis_tls_delegate final : public redis_delegate {
 public:
  redis_tls_delegate() : redis_delegate(secured().server, secured().url()) {}

 private:
  struct secured_server {
    secured_server() {
      server.session().run({"ACL",          "SETUSER",      "gateway",  "on",        ">secret",
                            "~onceguard:*", "&onceguard:*", "+select",  "+info",     "+evalsha",
                            "+script|load", "+time",        "+get",     "+getrange", "+set",
                            "+hget",        "+hmget",       "+hset",    "+hdel",     "+hkeys",
                            "+hincrby",     "+scan",        "+publish", "+subscribe"});
    }
    [[nodiscard]] std::string url() const {
      return "rediss://gateway:secret@127.0.0.1:" + std::to_string(tls_port) +
             "?ca=" + proof.file();
    }

    certificate proof;
    const int tls_port = free_port();
    redis_server server{{"--tls-port", std::to_string(tls_port), "--tls-cert-file", proof.file(),
                         "--tls-key-file", proof.key(), "--tls-auth-clients", "no"},
                        true};
  };
  static secured_server& secured() {
    static secured_server all;
    return all;
  }
};

/// A table of DynamoDB. There is no clock of a server: leases and retention run by the test's
/// clocks. An answer of some bytes is kept in pieces.
class dynamodb_delegate final : public store_delegate {
 public:
  explicit dynamodb_delegate(std::size_t piece_size = 350'000)
      : store_delegate(1'700'000'000'000), piece_size_(piece_size) {
    make_dynamodb_table(shared_dynamodb().url(table_));
  }
  [[nodiscard]] std::unique_ptr<store> open() override {
    dynamodb::dynamodb_params params;
    params.url = shared_dynamodb().url(table_);
    params.clock = &clock;
    params.timeout = milliseconds(10'000);
    params.retention_margin = milliseconds(0);
    params.piece_size = piece_size_;
    return open_dynamodb(params);
  }
  [[nodiscard]] bool remembers() const override { return true; }
  void damage(const record_id& id) override {
    shared_dynamodb().damage(table_, base::to_hex(id), "record");
  }

 private:
  const std::size_t piece_size_;
  const std::string table_ = shared_dynamodb().new_table();
};

/// PostgreSQL with Redis as its accelerator, both with the test's clock.
class tiered_delegate : public store_delegate {
 public:
  /// `wavering`: the store trusts its accelerator at some times and distrusts it at others.
  explicit tiered_delegate(bool wavering = false)
      : store_delegate(postgres_database::beginning), wavering_(wavering) {
    server().session().run({"FLUSHALL"});
    set_clocks();
    clock.on_move([this] { set_clocks(); });
  }
  [[nodiscard]] std::unique_ptr<store> open() override {
    postgres::postgres_params params;
    params.url = database_.url();
    params.clock = &clock;
    params.timeout = patience;
    params.connections = 2;
    auto truth = postgres::postgres_store::open(params);
    if (!truth) throw std::runtime_error(truth.error().detail);
    epoch_metadata& book = **truth;
    tiered::tiered_params own;
    own.clock = &clock;
    own.accelerator_timeout = patience;  // long enough for a busy machine
    if (wavering_) {
      own.interval = milliseconds(30);
      own.trusted = milliseconds(20);
    }
    const auto accelerator = [this]() -> result<std::unique_ptr<store>> {
      return open_redis(server().url(), clock, true);
    };
    auto opened = tiered::tiered_store::open(std::move(*truth), book, accelerator, own);
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }
  [[nodiscard]] bool remembers() const override { return true; }
  [[nodiscard]] milliseconds memory_limit() const override { return fresh_for; }

 private:
  static constexpr milliseconds patience{10'000};
  static redis_server& server() {
    static redis_server all({}, true);
    return all;
  }
  void set_clocks() {
    database_.set_clock(clock.wall_ms());
    server().set_clock(clock.wall_ms());
  }
  const bool wavering_;
  postgres_database database_;
};

/// Redis behind sentinels or as a cluster, with one clock for all servers. All tests of a program
/// share the servers; each test begins with empty servers.
template <class Fleet>
class redis_fleet_delegate final : public store_delegate {
 public:
  redis_fleet_delegate() : store_delegate(beginning) {
    fleet().servers.empty();
    fleet().clock->set(beginning);
    clock.on_move([this] { fleet().clock->set(clock.wall_ms()); });
  }
  [[nodiscard]] std::unique_ptr<store> open() override {
    return open_redis(fleet().servers.url(), clock);
  }
  [[nodiscard]] bool remembers() const override { return true; }

 private:
  static constexpr std::int64_t beginning = 1'700'000'000'000;
  struct shared_fleet {
    std::shared_ptr<server_clock> clock = std::make_shared<server_clock>();
    Fleet servers{clock};
  };
  static shared_fleet& fleet() {
    static shared_fleet all;
    return all;
  }
};

/// A store whose answers are encrypted.
template <class Kept>
class sealed_delegate final : public Kept {
 public:
  sealed_delegate() {
    const auto path = folder_.file("keys");
    std::ofstream(path) << "k1 " << std::string(64, 'a') << "\n";
    ::chmod(path.c_str(), 0600);
  }
  [[nodiscard]] std::unique_ptr<store> open() override {
    auto opened = sealed::sealed_store::over(Kept::open(), folder_.file("keys"));
    if (!opened) throw std::runtime_error(opened.error().detail);
    return std::move(*opened);
  }

 private:
  temporary_folder folder_;
};

struct engine_under_test {
  const char* name;
  std::function<std::unique_ptr<store_delegate>()> make;
  bool two_clocks = true;  ///< leases and retention run by different clocks
  bool sweeps = true;      ///< false: expired records disappear at once, without a sweep
  bool announces = false;  ///< settles are announced to other processes
  bool damaged = false;    ///< a test can damage a record of the store

  /// The clock of a server is one clock for leases and retention.
  [[nodiscard]] bool in_process() const noexcept { return two_clocks; }

  /// Prints the engine's name into the names of tests.
  friend void PrintTo(const engine_under_test& engine, std::ostream* output) {
    *output << engine.name;
  }
};

inline const engine_under_test engines[] = {
    {"memory", [] { return std::make_unique<memory_delegate>(); }},
    {"sqlite", [] { return std::make_unique<sqlite_delegate>(); }, true, true, false, true},
    {"journal", [] { return std::make_unique<journal_delegate>(); }, true, true, false, true},
    {"journal_cached", [] { return std::make_unique<journal_delegate>(1 << 20); }},
    {"postgres", [] { return std::make_unique<postgres_delegate>(); }, false, true, true, true},
    {"postgres_pooled", [] { return std::make_unique<postgres_delegate>(true); }, false, true,
     false, true},
    {"redis", [] { return std::make_unique<redis_delegate>(); }, false, false, true, true},
    {"redis_tls", [] { return std::make_unique<redis_tls_delegate>(); }, false, false, true, true},
    {"dynamodb", [] { return std::make_unique<dynamodb_delegate>(); }, false, false, false, true},
    {"dynamodb_pieces", [] { return std::make_unique<dynamodb_delegate>(7); }, false, false, false,
     true},
    {"tiered", [] { return std::make_unique<tiered_delegate>(); }, false, true, true},
    {"redis_sentinel", [] { return std::make_unique<redis_fleet_delegate<redis_sentinels>>(); },
     false, false, true},
    {"redis_cluster", [] { return std::make_unique<redis_fleet_delegate<redis_cluster>>(); }, false,
     false, true},
    {"memory_sealed", [] { return std::make_unique<sealed_delegate<memory_delegate>>(); }},
    {"sqlite_sealed", [] { return std::make_unique<sealed_delegate<sqlite_delegate>>(); }, true,
     true, false, true},
    {"postgres_sealed", [] { return std::make_unique<sealed_delegate<postgres_delegate>>(); },
     false, true, true, true},
    {"tiered_sealed", [] { return std::make_unique<sealed_delegate<tiered_delegate>>(); }, false,
     true, true},
};

inline std::vector<engine_under_test> engines_that(bool engine_under_test::*can) {
  std::vector<engine_under_test> out(std::begin(engines), std::end(engines));
  std::erase_if(out, std::not_fn(can));
  return out;
}

}  // namespace onceguard::testing
