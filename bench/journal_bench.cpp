// The journal by itself: fills one with completed records, and measures how long a start takes.
//   journal_bench fill FOLDER KEYS    cycles of claim and complete per second, in batches of 256
//   journal_bench start FOLDER        milliseconds, and how many keys
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "base/random.hpp"
#include "base/rethrow.hpp"
#include "sample.hpp"
#include "store/journal/journal_store.hpp"

namespace {

using namespace onceguard;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

[[noreturn]] void give_up(const error& why) {
  std::fprintf(stderr, "%s\n", why.detail.c_str());
  std::exit(1);
}

std::unique_ptr<journal::journal_store> open(const std::string& path) {
  journal::journal_params params;
  params.path = path;
  auto opened = journal::journal_store::open(params);
  if (!opened) give_up(opened.error());
  return std::move(*opened);
}

std::vector<claim> make_claims(std::size_t count) {
  std::vector<claim> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(bench::make_claim());
  return out;
}

boost::asio::awaitable<void> complete(store& records, std::size_t keys) {
  constexpr std::size_t batch = 256;
  constexpr milliseconds patience(60'000);
  const auto answer = bench::make_answer();
  for (std::size_t done = 0; done < keys;) {
    const auto claims = make_claims(std::min(batch, keys - done));
    const auto verdicts = co_await records.claim(claims, patience);
    std::vector<settlement> settles;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      if (!verdicts[i]) give_up(verdicts[i].error());
      settlement each;
      each.id = claims[i].id;
      each.claim_id = claims[i].claim_id;
      each.token = verdicts[i]->lease.token;
      each.about = claims[i].about;
      each.answer = answer;
      settles.push_back(std::move(each));
    }
    const auto outcomes = co_await records.settle(std::move(settles), patience);
    for (const auto& each : outcomes) {
      if (!each) give_up(each.error());
    }
    done += claims.size();
  }
}

void fill(const std::string& path, std::size_t keys) {
  const auto records = open(path);
  const auto begin = std::chrono::steady_clock::now();
  boost::asio::io_context io(1);
  boost::asio::co_spawn(io, complete(*records, keys), base::rethrow);
  io.run();
  std::printf("%.0f\n", static_cast<double>(keys) / seconds_since(begin));
  records->stop();
}

void start(const std::string& path) {
  const auto begin = std::chrono::steady_clock::now();
  const auto records = open(path);
  const auto took = seconds_since(begin);
  for (const auto& each : records->numbers()) {
    if (each.name == "onceguard_store_keys") {
      std::printf("%.0f ms, %.0f keys\n", took * 1'000, each.value);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  const std::string act = count > 2 ? words[1] : "";
  if (act == "fill" && count == 4) {
    fill(words[2], std::strtoull(words[3], nullptr, 10));
  } else if (act == "start" && count == 3) {
    start(words[2]);
  } else {
    std::fprintf(stderr, "journal_bench fill FOLDER KEYS | start FOLDER\n");
    return 2;
  }
  return 0;
}
