// run_command: the library call behind `onceguard exec`.
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "command/command_call.hpp"

namespace onceguard::testing {
namespace {

using namespace std::chrono_literals;

/// Has room for small answers only.
class small_store final : public store {
 public:
  static constexpr std::size_t room = 1'000;

  explicit small_store(std::unique_ptr<store> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] store_traits traits() const override { return inner_->traits(); }
  boost::asio::awaitable<std::vector<result<verdict>>> claim(std::vector<onceguard::claim> batch,
                                                             milliseconds timeout) override {
    return inner_->claim(std::move(batch), timeout);
  }
  boost::asio::awaitable<std::vector<result<settled>>> settle(std::vector<settlement> batch,
                                                              milliseconds timeout) override {
    for (const auto& each : batch) {
      if (each.answer && each.answer->body.size() > room) {
        const error full(errc::store_full, "no room", effect::none);
        std::vector<result<settled>> refused(batch.size(), full);
        co_return refused;
      }
    }
    auto done = co_await inner_->settle(std::move(batch), timeout);
    co_return done;
  }
  boost::asio::awaitable<std::vector<result<bool>>> extend(std::vector<extension> batch,
                                                           milliseconds timeout) override {
    return inner_->extend(std::move(batch), timeout);
  }
  boost::asio::awaitable<result<resolve_decision>> resolve(resolution request,
                                                           milliseconds timeout) override {
    return inner_->resolve(std::move(request), timeout);
  }
  boost::asio::awaitable<result<std::optional<record_view>>> find(record_id id,
                                                                  milliseconds timeout) override {
    return inner_->find(id, timeout);
  }
  boost::asio::awaitable<result<list_page>> list(list_filter filter, std::string cursor,
                                                 std::size_t limit, milliseconds timeout) override {
    return inner_->list(std::move(filter), std::move(cursor), limit, timeout);
  }
  boost::asio::awaitable<result<counts>> count(std::string cursor, milliseconds timeout) override {
    return inner_->count(std::move(cursor), timeout);
  }
  boost::asio::awaitable<result<import_outcome>> import_record(imported_record request,
                                                               milliseconds timeout) override {
    return inner_->import_record(std::move(request), timeout);
  }
  boost::asio::awaitable<result<std::size_t>> sweep(std::size_t limit,
                                                    milliseconds timeout) override {
    return inner_->sweep(limit, timeout);
  }
  boost::asio::awaitable<result<onceguard::vitals>> vitals(milliseconds timeout) override {
    return inner_->vitals(timeout);
  }
  void on_settled(settled_listener listener) override { inner_->on_settled(std::move(listener)); }
  void stop() override { inner_->stop(); }

 private:
  std::unique_ptr<store> inner_;
};

TEST_F(command_call, a_repeat_gets_the_result_of_the_first_run) {
  const auto job = shell("echo out; echo err >&2; exit 3");
  rules_.success = {3};
  const auto first = run_command(guard_, of(job), job, rules_).value();
  EXPECT_FALSE(first.replayed);
  EXPECT_EQ(first.value.exit_code, 3);
  EXPECT_EQ(first.value.output_size, 8u);
  const auto again = run_command(guard_, of(job), job, rules_).value();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.value, first.value);
  EXPECT_EQ(runs(), 1);
}

TEST_F(command_call, a_negative_length_is_refused_and_the_longest_is_for_ever) {
  const auto job = shell("exit 0");
  constexpr milliseconds command_rules::*lengths[] = {&command_rules::timeout,
                                                      &command_rules::grace, &command_rules::every};
  for (auto length : lengths) {
    for (const auto value : {-1ms, milliseconds::min()}) {
      auto rules = rules_;
      rules.*length = value;
      const auto done = run_command(guard_, of(job), job, rules);
      ASSERT_FALSE(done.has_value());
      EXPECT_EQ(done.error().cause->code, errc::invalid_argument);
      EXPECT_NE(done.error().cause->detail.find("is negative"), std::string::npos);
    }
  }
  EXPECT_EQ(runs(), 0);
  for (auto length : lengths) rules_.*length = milliseconds::max();
  rules_.retries = std::numeric_limits<std::size_t>::max();
  rules_.keep_output = std::numeric_limits<std::size_t>::max();
  rules_.keep_in_file = std::numeric_limits<std::uint64_t>::max();
  EXPECT_FALSE(run_command(guard_, of(job), job, rules_).value().replayed);
  EXPECT_TRUE(run_command(guard_, of(job), job, rules_).value().replayed);
  EXPECT_EQ(runs(), 1);
}

TEST_F(command_call, a_probe_with_a_negative_timeout_asks_nothing) {
  const auto asking = probe_by_command(shell("exit 0"), -1ms);
  const auto report = asking(subject(), lease());
  EXPECT_EQ(report.status, effect_status::unknown);
  EXPECT_NE(report.why.find("negative"), std::string::npos);
  EXPECT_EQ(runs(), 0);
}

TEST_F(command_call, the_input_and_the_folder_are_those_of_the_command) {
  auto job = shell("cat; pwd");
  job.input = std::string(300'000, 'i');
  job.folder = "/usr";
  std::string output;
  // It can only be moved.
  rules_.on_output = [&, own = std::make_unique<int>()](output_stream, std::string_view bytes) {
    output += bytes;
  };
  EXPECT_EQ(run_command(guard_, of(job), job, rules_)->value.exit_code, 0);
  EXPECT_EQ(output, job.input + "/usr\n");
}

TEST_F(command_call, a_command_that_reads_no_input_does_not_hang) {
  auto job = shell("exit 0");
  job.input = std::string(10'000'000, 'i');
  EXPECT_EQ(run_command(guard_, of(job), job, rules_)->value.exit_code, 0);
}

TEST_F(command_call, a_success_that_is_too_old_for_the_call_runs_anew) {
  const auto job = shell("true");
  const auto call = [&](milliseconds fresh_after, milliseconds every) {
    rules_.fresh_after = fresh_after;
    rules_.every = every;
    return run_command(guard_, of(job), job, rules_).value().replayed;
  };
  EXPECT_FALSE(call(0ms, 0ms));
  EXPECT_TRUE(call(1h, 0ms));
  EXPECT_TRUE(call(0ms, 1h));
  EXPECT_EQ(runs(), 1);
  wait_until("an old success", [&] { return !call(20ms, 0ms); });
  EXPECT_TRUE(call(1h, 0ms));
  // Of the last one, the record goes with its period.
  wait_until("the next period", [&] { return !call(0ms, 20ms); });
  EXPECT_EQ(runs(), 3);
}

TEST_F(command_call, malformed_commands_are_refused_and_nothing_runs) {
  const auto refused = [&](const command& job) {
    const auto got = run_command(guard_, of(job), job, rules_);
    return !got && got.error().kind == refusal_kind::invalid_request;
  };
  EXPECT_TRUE(refused(command{}));
  auto job = shell("true");
  job.words.push_back(std::string("a\0b", 3));
  EXPECT_TRUE(refused(job));
  job = shell("true");
  job.environment.emplace_back("A=B", "c");
  EXPECT_TRUE(refused(job));
  job.environment.back() = {"", "c"};
  EXPECT_TRUE(refused(job));
  EXPECT_EQ(runs(), 0);
}

TEST_F(command_call, failures_are_tried_again_within_the_call) {
  const auto job = shell("[ $ONCEGUARD_ATTEMPT = 3 ]");
  rules_.retries = 5;
  route_policy quick;
  quick.backoff = 10ms;
  rules_.policy = &quick;
  EXPECT_EQ(run_command(guard_, of(job), job, rules_)->value.exit_code, 0);
  EXPECT_EQ(runs(), 3);
}

TEST_F(command_call, only_failures_are_tried_again_within_the_call) {
  rules_.retries = 3;
  const auto harmless = shell("exit 75");
  const auto released = run_command(guard_, of(harmless), harmless, rules_).value();
  EXPECT_EQ(released.value.settled, settle_kind::release);
  EXPECT_EQ(runs(), 1);
  rules_.failure = settle_kind::abandon;
  const auto doubtful = shell("exit 3");
  const auto unknown = run_command(guard_, of(doubtful), doubtful, rules_).value();
  EXPECT_EQ(unknown.value.exit_code, 3);
  EXPECT_EQ(runs(), 2);
}

TEST_F(command_call, what_could_not_be_recorded_is_no_result) {
  guard_params hasty;
  hasty.engine.settle_wait = 50ms;
  guard impatient = guard::open(records_.open(), hasty).value();
  rules_.on_start = [&](running_command&) { records_.set_reachable(false); };
  const auto job = shell("echo done");
  const auto made = run_command(impatient, of(job), job, rules_);
  records_.set_reachable(true);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().kind, refusal_kind::unrecorded);
  EXPECT_EQ(runs(), 1);
}

TEST_F(command_call, a_store_without_room_for_the_output_keeps_the_exit_code) {
  guard_params hasty;
  hasty.engine.settle_wait = 50ms;
  guard full = guard::open(std::make_unique<small_store>(records_.open()), hasty).value();
  rules_.success = {3};
  const auto job = shell("head -c 5000 /dev/zero; exit 3");
  const auto first = run_command(full, of(job), job, rules_).value();
  EXPECT_EQ(first.value.exit_code, 3);
  EXPECT_EQ(first.value.output_size, 5'000u);
  const auto again = run_command(full, of(job), job, rules_).value();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.value.exit_code, 3);
  EXPECT_EQ(again.value.output_size, 5'000u);
  EXPECT_TRUE(again.value.output.empty());
  EXPECT_EQ(runs(), 1);
}

TEST_F(command_call, an_exception_of_the_caller_ends_the_command_and_leaves_it_unknown) {
  const auto job = shell("echo ready; sleep 300");
  rules_.on_output = [](output_stream, std::string_view) { throw std::runtime_error("full"); };
  EXPECT_THROW(static_cast<void>(run_command(guard_, of(job), job, rules_)), std::runtime_error);
  rules_.on_output = {};
  wait_until("the end of the lease", [&] {
    const auto again = run_command(guard_, of(job), job, rules_);
    return !again && again.error().kind == refusal_kind::unknown;
  });
}

TEST_F(command_call, output_is_bounded_in_memory) {
  const auto job = shell("head -c 1000000 /dev/zero");
  rules_.keep_output = 1'000;
  std::size_t seen = 0;
  rules_.on_output = [&](output_stream, std::string_view bytes) { seen += bytes.size(); };
  const auto made = run_command(guard_, of(job), job, rules_).value().value;
  EXPECT_EQ(seen, 1'000'000u);
  EXPECT_EQ(made.output_size, 1'000'000u);
  ASSERT_EQ(made.output.size(), 1u);
  EXPECT_EQ(made.output.front().bytes.size(), 1'000u);
  EXPECT_TRUE(made.output_file.empty());
  seen = 0;
  const auto again = run_command(guard_, of(job), job, rules_).value().value;
  EXPECT_EQ(seen, 1'000u);
  EXPECT_EQ(again.why, "not all of the first run's output was kept");
}

TEST_F(command_call, a_probe_asks_with_the_token) {
  route_policy asks;
  asks.unknown = unknown_policy::probe;
  guard_params params;
  command question;
  question.words = {"/bin/sh", "-c",
                    "[ -n \"$ONCEGUARD_TOKEN\" ] && echo found $ONCEGUARD_ATTEMPT"};
  params.probe = probe_by_command(question, 10s);
  auto asking = guard::open(records_.open(), params).value();
  const auto job = shell("kill -9 $$");
  EXPECT_EQ(run_command(guard_, of(job), job, rules_)->value.exit_code, 128 + SIGKILL);
  rules_.policy = &asks;
  const auto done = run_command(asking, of(job), job, rules_).value();
  EXPECT_TRUE(done.replayed);
  EXPECT_EQ(done.value.exit_code, 0);
  ASSERT_EQ(done.value.output.size(), 1u);
  EXPECT_EQ(done.value.output.front().bytes, "found 2\n");
  EXPECT_EQ(runs(), 1);
}

TEST_F(command_call, words_differ_by_their_lengths) {
  command one;
  one.words = {"a", "bc"};
  command other;
  other.words = {"ab", "c"};
  EXPECT_NE(command_fingerprint(one), command_fingerprint(other));
}

}  // namespace
}  // namespace onceguard::testing
