// Consumers of every broker are killed amid their messages, again and again. The effects are
// counted in the database.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <signal.h>
#include <string>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/contract/broker_server.hpp"
#include "messaging/postgres_queue/queue_table.hpp"
#include "store/postgres/database.hpp"
#include "support/scale.hpp"
#include "support/server_process.hpp"
#include "support/temporary_folder.hpp"
#include "support/waiting.hpp"

#ifndef __has_feature  // gcc, by which no sanitizer builds here
#define __has_feature(name) 0
#endif

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;

/// 20,000 at full scale; less where a sanitizer makes everything slow.
int messages_to_send() {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  constexpr int usual = 8'000;
#else
  constexpr int usual = 20'000;
#endif
  return scaled(usual);
}

std::string sibling(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

/// Waits for what takes long, and asks seldom: each question costs the database or a process.
void wait_long(const std::string& description, const std::function<bool()>& condition) {
  const auto asked_seldom = [&, next = base::boot_now()]() mutable {
    if (base::boot_now() < next) return false;
    next = base::boot_now() + 50ms;
    return condition();
  };
  wait_until(description, asked_seldom, 600s);
}

/// The program that is built beside the tests.
std::string program() {
  const auto tests = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return (tests.parent_path() / "onceguard").string();
}

/// How often each line stands in the file.
std::map<std::string, int> effects_in(const std::string& path) {
  std::map<std::string, int> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) ++out[line];
  return out;
}

/// The ids of the messages that are listed for a person.
std::set<std::string> unknown_ones(const std::string& config) {
  const auto listed = config + ".unknown";
  std::filesystem::remove(listed);
  const std::vector<std::string> words{program(), "keys",     "list", "--state",
                                       "unknown", "--config", config, "--json"};
  if (wait_for_end(begin_program({}, words, listed)) != 0) return {};
  std::set<std::string> out;
  std::ifstream file(listed);
  constexpr std::string_view mark = "\"key\":\"";
  for (std::string line; std::getline(file, line);) {
    const auto begin = line.find(mark);
    if (begin == line.npos) continue;
    const auto key = line.substr(begin + mark.size());
    out.insert(key.substr(0, key.find('"')));
  }
  return out;
}

/// A process that is killed, and begun again.
class doomed_process {
 public:
  doomed_process(std::vector<std::string> words, std::string log)
      : words_(std::move(words)), log_(std::move(log)) {
    begin();
  }
  doomed_process(const std::string& mode, const std::string& queue, const std::string& database,
                 std::string log)
      : doomed_process({sibling("inbox_consumer"), mode, queue, database}, std::move(log)) {}
  doomed_process(const doomed_process&) = delete;
  doomed_process& operator=(const doomed_process&) = delete;
  ~doomed_process() { end(SIGKILL); }

  void kill_and_begin_again() {
    end(SIGKILL);
    begin();
  }
  void freeze() const { ::kill(child_, SIGSTOP); }
  void thaw() const { ::kill(child_, SIGCONT); }

 private:
  void begin() { child_ = begin_program({}, words_, log_); }
  void end(int signal) const {
    ::kill(child_, SIGCONT);
    ::kill(child_, signal);
    wait_for_end(child_);
  }

  const std::vector<std::string> words_;
  const std::string log_;
  pid_t child_ = -1;
};

class inbox_crash : public ::testing::TestWithParam<tested_broker> {
 protected:
  inbox_crash() : broker_(GetParam().begin()) {
    database_.admin().run(
        "DROP TABLE IF EXISTS effects; CREATE TABLE effects (message text NOT NULL)");
    queue_ = broker_->make_busy_queue();
  }

  void publish(int count) const {
    messaging::broker_params target;
    target.url = queue_.publisher_url;
    target.timeout = milliseconds(30'000);
    const auto sender = messaging::open_publisher(target).value();
    for (int sent = 0; sent < count;) {
      std::vector<messaging::message> batch;
      for (; batch.size() < 500 && sent < count; ++sent) {
        auto& one = batch.emplace_back();
        one.payload = "message " + std::to_string(sent);
        one.properties.emplace_back("message_id", "m" + std::to_string(sent));
      }
      sender->publish(batch).value();
    }
  }

  /// For a consumer that runs a command for each message.
  [[nodiscard]] std::string command_config(const std::string& name, const std::string& url) const {
    auto out = folder_.file(name);
    std::ofstream(out) << "[store]\nurl = \"sqlite:" << folder_.file("inbox.db")
                       << "\"\n[[consume]]\nsubscriber = \"crash\"\nfrom = \"" << url
                       << "\"\ncommand = [\"/bin/sh\", \"-c\", "
                       << "\"sleep 0.03; echo $ONCEGUARD_MESSAGE_ID >> " << folder_.file("effects")
                       << "\"]\nlease = \"2s\"\nconcurrency = 4\ndead_letter = \"drop\"\n";
    return out;
  }

  int number(const std::string& statement) { return std::stoi(database_.admin().value(statement)); }
  int distinct() { return number("SELECT count(DISTINCT message) FROM effects"); }
  int total() { return number("SELECT count(*) FROM effects"); }

  /// Nothing is left at the broker, neither waiting nor held.
  void expect_empty_queue() const {
    messaging::broker_params source;
    source.url = queue_.consumer_url;
    const auto last = messaging::open_consumer(source).value();
    const auto rest = last->receive(10, GetParam().hold + 2s);
    ASSERT_TRUE(rest.has_value()) << rest.error().detail;
    EXPECT_TRUE(rest->empty());
  }

  postgres_database database_;
  temporary_folder folder_;
  const std::unique_ptr<broker_server> broker_;
  test_queue queue_;
};

TEST_P(inbox_crash, each_message_takes_effect_once_though_consumers_and_broker_are_killed) {
  const int count = messages_to_send();
  doomed_process one("inbox", queue_.consumer_url, database_.url(), folder_.file("one"));
  doomed_process other("inbox", queue_.other_url(), database_.url(), folder_.file("other"));
  publish(count);
  int kills = 0;
  // After each so many effects, whatever the speed of this machine is.
  const int step = std::max(count / 20, 1);
  int next = step;
  bool broker_killed = false;
  const auto done = [&] {
    const int effects = total();
    if (!broker_killed && effects >= count / 2) {
      broker_->stop();
      broker_->start();
      broker_killed = true;
    }
    if (effects >= next && effects < count) {
      (++kills % 2 == 0 ? one : other).kill_and_begin_again();
      next = effects + step;
    }
    return effects >= count;
  };
  wait_long("all effects", done);
  EXPECT_EQ(distinct(), count);
  EXPECT_EQ(total(), count) << "each of them once";
  // What was handled and not acknowledged is a duplicate now.
  wait_long("an empty queue", [&] {
    messaging::broker_params source;
    source.url = queue_.consumer_url;
    const auto waiting = messaging::open_consumer(source).value()->backlog();
    return waiting && waiting->value_or(0) == 0;
  });
  EXPECT_EQ(total(), count);
  EXPECT_GT(kills, 0);
  EXPECT_TRUE(broker_killed);
  std::cout << GetParam().name << ": " << count << " messages, " << kills << " kills\n";
}

TEST_P(inbox_crash, without_the_inbox_there_are_doubles) {
  constexpr int count = 2'000;
  publish(count);
  {
    doomed_process one("naive", queue_.consumer_url, database_.url(), folder_.file("one"));
    const auto killed_amid = [&] {
      if (total() > distinct()) return true;
      one.kill_and_begin_again();
      const int before = total();
      // Amid a batch: some of its effects are there, and nothing of it is acknowledged.
      wait_until("some effects", [&] { return total() > before || distinct() == count; });
      return distinct() == count;
    };
    wait_until("doubles", killed_amid, 120s);
  }
  EXPECT_GT(total(), distinct());
}

TEST_P(inbox_crash, a_frozen_consumer_that_wakes_up_repeats_nothing) {
  constexpr int count = 500;
  doomed_process frozen("inbox", queue_.consumer_url, database_.url(), folder_.file("frozen"));
  publish(count / 2);
  wait_until("the first effects", [&] { return total() > 0; });
  frozen.freeze();
  doomed_process other("inbox", queue_.other_url(), database_.url(), folder_.file("other"));
  publish(count / 2);
  if (GetParam().hold > 0ms) {
    wait_until(
        "the other's effects", [&] { return distinct() == count / 2; }, 60s);
  }
  frozen.thaw();
  wait_until(
      "all effects", [&] { return distinct() == count / 2; }, 60s);
  EXPECT_EQ(total(), count / 2) << "both halves have the same ids";
}

TEST_P(inbox_crash, commands_run_at_most_once_and_what_is_missing_is_listed) {
  // A process for each message is most of what this costs.
  const int count = scaled(800);
  const auto config = command_config("one.toml", queue_.consumer_url);
  const auto other_config = command_config("other.toml", queue_.other_url());
  std::map<std::string, int> effects;
  {
    doomed_process one({program(), "consume", "--config", config}, folder_.file("one"));
    doomed_process other({program(), "consume", "--config", other_config}, folder_.file("other"));
    publish(count);
    std::size_t kills = 0;
    const auto step = static_cast<std::size_t>(std::max(count / 10, 1));
    const auto settled = [&] {
      effects = effects_in(folder_.file("effects"));
      if (kills < 6 && effects.size() >= step * (kills + 1)) {
        (++kills % 2 == 0 ? one : other).kill_and_begin_again();
      }
      if (kills < 6) return false;
      // A message may have had its effect, and be listed too.
      auto accounted = unknown_ones(config);
      for (const auto& effect : effects) accounted.insert(effect.first);
      return accounted.size() >= static_cast<std::size_t>(count);
    };
    wait_long("all messages", settled);
  }
  effects = effects_in(folder_.file("effects"));
  const auto unknown = unknown_ones(config);
  for (int i = 0; i < count; ++i) {
    const auto id = "m" + std::to_string(i);
    const auto found = effects.find(id);
    const int times = found == effects.end() ? 0 : found->second;
    EXPECT_LE(times, 1) << id;
    EXPECT_TRUE(times == 1 || unknown.contains(id)) << id << " is lost";
  }
}

/// Publishes in transactions of ten messages each; every fourth one is rolled back.
class publishing_shop {
 public:
  explicit publishing_shop(sql_session& database) : database_(database) {}

  void trade() {
    const bool commits = ++transactions_ % 4 != 0;
    const auto first = std::to_string(committed_);
    database_.run("BEGIN; INSERT INTO events (message_id, order_key, payload) SELECT '" +
                  std::string(commits ? "m" : "never") + "' || i, 'k' || i % 61, 'sold' " +
                  "FROM generate_series(" + first + ", " + first + " + 9) i; " +
                  (commits ? "COMMIT" : "ROLLBACK"));
    if (commits) committed_ += 10;
  }
  [[nodiscard]] int committed() const noexcept { return committed_; }

 private:
  sql_session& database_;
  int transactions_ = 0;
  int committed_ = 0;
};

TEST_P(inbox_crash, what_commits_in_an_outbox_takes_effect_once_at_the_far_end) {
  const int count = scaled(2'000);
  const auto outbox = database_.url() + "?outbox=events&hold=1s";
  database_.admin().run("DROP TABLE IF EXISTS events");
  messaging::postgres_queue::create_outbox(outbox).value();
  const auto config = folder_.file("relay.toml");
  std::ofstream(config) << "[[relay]]\nname = \"chain\"\noutbox = \"" << outbox << "\"\nto = \""
                        << queue_.publisher_url << "\"\nbackoff = \"100ms\"\n";
  const std::vector<std::string> words{program(), "relay", "--config", config};
  std::vector<std::unique_ptr<doomed_process>> all;
  for (const char* const log : {"relay one", "relay two"}) {
    all.push_back(std::make_unique<doomed_process>(words, folder_.file(log)));
  }
  for (const auto& url : {queue_.consumer_url, queue_.other_url()}) {
    const auto log = folder_.file("consumer " + std::to_string(all.size()));
    all.push_back(std::make_unique<doomed_process>("inbox", url, database_.url(), log));
  }
  publishing_shop shop(database_.admin());
  std::size_t kills = 0;
  const int step = std::max(count / 12, 1);
  int next = step;
  wait_long("all effects", [&] {
    for (int i = 0; i < 20 && shop.committed() < count; ++i) shop.trade();
    const int effects = total();
    if (effects >= next && effects < count) {
      all[++kills % all.size()]->kill_and_begin_again();
      next = effects + step;
    }
    return effects >= shop.committed() && shop.committed() >= count;
  });
  wait_long("an empty outbox", [&] { return number("SELECT count(*) FROM events") == 0; });
  EXPECT_EQ(total(), shop.committed());
  EXPECT_EQ(distinct(), shop.committed());
  EXPECT_EQ(number("SELECT count(*) FROM effects WHERE message LIKE 'never%'"), 0);
  EXPECT_GT(kills, 0u);
}

INSTANTIATE_TEST_SUITE_P(brokers, inbox_crash, ::testing::ValuesIn(tested_brokers()),
                         [](const auto& broker) { return broker.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(inbox_crash);

}  // namespace
}  // namespace onceguard::testing
