// What the Redis store does in a second:
//   redis_bench PORT cycles CALLERS SECONDS    claims that are completed
//   redis_bench PORT replays CALLERS SECONDS   repeats of completed keys
//   redis_bench PORT claims CALLERS SECONDS    first claims alone
//   redis_bench PORT bare 1 SECONDS            first claims by hiredis alone, one by one
//   redis_bench PORT pings 1 SECONDS           PING by hiredis alone, one by one
// Prints the rate and the median time of one, in microseconds.
//   redis_bench PORT arguments                 of a first claim, for redis-benchmark: a line each
//   redis_bench PORT script                    the same by the script, the subject in hex
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <hiredis/hiredis.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "callers.hpp"
#include "store/redis/command.hpp"
#include "store/redis/redis_store.hpp"
#include "store/redis/stored.hpp"
#include "store/redis/wire.hpp"

namespace {

using namespace onceguard;
using namespace onceguard::bench;

// redis-benchmark does not make its keys while it measures, either.
constexpr std::size_t claims_made_per_second = 150'000;

std::vector<claim> make_claims(double seconds) {
  std::vector<claim> out(static_cast<std::size_t>(seconds * claims_made_per_second));
  for (auto& each : out) each = make_claim();
  return out;
}

boost::asio::awaitable<void> claim_until_the_end(load& load, std::vector<claim>& made) {
  for (auto begin = steady::now(); begin < load.end && !made.empty();) {
    std::vector<claim> claims(1, std::move(made.back()));
    made.pop_back();
    const auto verdict = co_await load.target.claim(std::move(claims), patience);
    if (!verdict[0] || verdict[0]->kind != verdict_kind::run) std::abort();
    const auto end = steady::now();
    load.took.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
    begin = end;
  }
}

/// One connection of hiredis, which sends and then waits.
class bare_line {
 public:
  explicit bare_line(int port) : on_(redisConnect("127.0.0.1", port), redisFree) {
    if (!on_ || on_->err != 0) std::exit(1);
  }
  void round_trip(const std::string& commands, int replies) {
    redisAppendFormattedCommand(on_.get(), commands.data(), commands.size());
    for (int i = 0; i < replies; ++i) {
      void* got = nullptr;
      const bool good = redisGetReply(on_.get(), &got) == REDIS_OK;
      const std::unique_ptr<void, void (*)(void*)> reply(got, freeReplyObject);
      if (!good || static_cast<redisReply*>(got)->type == REDIS_REPLY_ERROR) std::exit(1);
    }
  }

 private:
  std::unique_ptr<redisContext, void (*)(redisContext*)> on_;
};

void ask_until_the_end(int port, load& load, bool pings) {
  bare_line line(port);
  const redis::keyspace names("onceguard:", false);
  while (steady::now() < load.end) {
    std::string commands;
    if (pings) {
      redis::append_command(commands, {"PING"});
    } else {  // as the library sends a batch of one
      redis::claims::write_first(commands, names, make_claim(), 1'000'000);
      redis::append_command(commands, {"INCR", names.generation()});
      redis::append_command(commands, {"TIME"});
    }
    const auto begin = steady::now();
    line.round_trip(commands, pings ? 1 : 3);
    load.took.push_back(microseconds_since(begin));
  }
}

// redis-benchmark puts twelve digits in the place of __rand_int__, and ends a word at a zero.
const std::string twenty(20, 'x');

void print_arguments() {
  const auto request = make_claim();
  const std::string value(redis::size_of_first(request), 'x');
  std::printf("SET\nonceguard:r:%s__rand_int__\n%s\nNX\nPX\n%lld\n", twenty.c_str(), value.c_str(),
              static_cast<long long>(redis::first_lives(request).count()));
}

void print_arguments_of_the_script() {
  const auto request = make_claim();
  const redis::keyspace names("onceguard:", false);
  auto subject = redis::encode_subject(*request.about);
  std::replace(subject.begin(), subject.end(), '\0', 'x');
  subject.replace(subject.find(request.about->key), 32, twenty + "__rand_int__");
  std::vector<std::string> words{"FCALL", std::string(redis::function_name(redis::script::claim)),
                                 "3", "onceguard:r:" + twenty + "__rand_int__"};
  words.insert(words.end(), names.counters().begin(), names.counters().end());
  words.insert(words.end(), {"xxxx__rand_int__", "30000", "in_progress", "hold", "0", "0", "0"});
  for (const auto& word : words) std::printf("%s\n", word.c_str());
  const std::span bytes(reinterpret_cast<const unsigned char*>(subject.data()), subject.size());
  std::printf("%s\n", base::to_hex(bytes).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view description = argc > 2 ? argv[2] : "";
  if (description == "arguments") return print_arguments(), 0;
  if (description == "script") return print_arguments_of_the_script(), 0;
  if (argc != 5) {
    std::fprintf(stderr, "redis_bench PORT cycles|replays|claims|bare|pings CALLERS SECONDS\n");
    return 2;
  }
  const std::size_t callers = std::stoul(argv[3]);
  const std::chrono::duration<double> seconds(std::stod(argv[4]));
  redis::redis_params params;
  params.url = std::string("redis://127.0.0.1:") + argv[1];
  params.timeout = patience;
  auto opened = redis::redis_store::open(params);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().detail.c_str());
    return 1;
  }
  load all{**opened, {}};
  if (description == "replays") {
    run_callers(64, [&](std::size_t) { return complete_some(all, replayed_keys / 64); });
  }
  std::vector<claim> made;
  if (description == "claims") made = make_claims(seconds.count());
  all.took.reserve(made.size());
  const auto begin = steady::now();
  all.end = begin + std::chrono::duration_cast<steady::duration>(seconds);
  if (description == "pings" || description == "bare") {
    ask_until_the_end(std::stoi(argv[1]), all, description == "pings");
  } else if (description == "replays") {
    run_callers(callers, [&](std::size_t i) { return repeat_until_the_end(all, i, callers); });
  } else if (description == "claims") {
    run_callers(callers, [&](std::size_t) { return claim_until_the_end(all, made); });
  } else {
    run_callers(callers, [&](std::size_t) { return complete_until_the_end(all); });
  }
  print_result(all, begin);
  (*opened)->stop();
  return 0;
}
