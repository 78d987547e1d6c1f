// What the Redis store does in a second:
//   redis_bench PORT cycles CALLERS SECONDS    claims that are completed
//   redis_bench PORT replays CALLERS SECONDS   repeats of completed keys
//   redis_bench PORT claims CALLERS SECONDS    first claims alone
//   redis_bench PORT bare 1 SECONDS            first claims by hiredis alone, one by one, after a
//                                              store was opened on the server
//   redis_bench PORT pings 1 SECONDS           PING by hiredis alone, one by one
// Prints the rate and the median time of one, in microseconds.
//   redis_bench PORT arguments                 of a claim, for redis-benchmark: a line each
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
#include "store/redis/compare_and_set.hpp"
#include "store/redis/redis_store.hpp"
#include "store/redis/transport/resp.hpp"

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

/// As the library sends it. The scripts are on the server since a store was opened.
redis::request first_call(claim request) {
  static const redis::keyspace names("onceguard:", false);
  redis::lease_cache leases;
  return *redis::claim_act(std::move(request), {names, leases}).begin();
}

void ask_until_the_end(int port, load& load, bool pings) {
  bare_line line(port);
  const redis::keyspace names("onceguard:", false);
  while (steady::now() < load.end) {
    std::string commands;
    if (pings) {
      redis::append_command(commands, {"PING"});
    } else {  // as the library sends a batch of one
      commands = first_call(make_claim()).command;
      redis::append_command(commands, {"HINCRBY", names.metadata(0), "the name of the bench", "1"});
    }
    const auto begin = steady::now();
    line.round_trip(commands, pings ? 1 : 2);
    load.took.push_back(microseconds_since(begin));
  }
}

// redis-benchmark puts twelve digits in the place of __rand_int__, and ends a word at a zero.
void print_arguments() {
  const std::string twenty(20, 'x');
  const redis::keyspace names("onceguard:", false);
  const auto command = first_call(make_claim()).command;
  // *6, EVALSHA, the digest, 1, the key, the payload, no time to live.
  const auto digest = command.substr(command.find("$40\r\n") + 5, 40);
  const auto size_at = command.find("\r\n$", command.find(names.record({}).substr(0, 12)) + 44) + 3;
  const std::string payload(std::stoul(command.substr(size_at)), 'x');
  std::printf("EVALSHA\n%s\n1\nonceguard:r:%s__rand_int__\n%s\n\n", digest.c_str(), twenty.c_str(),
              payload.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view description = argc > 2 ? argv[2] : "";
  if (description == "arguments") return print_arguments(), 0;
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
