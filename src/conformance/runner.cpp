#include "conformance/runner.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <map>
#include <optional>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/hex.hpp"
#include "base/json_reader.hpp"
#include "base/random.hpp"
#include "http1/message.hpp"

namespace onceguard::conformance {
namespace {

namespace asio = boost::asio;
using nlohmann::json;

constexpr std::size_t key_size_max = 255;
// Polls are connections: where each waits for the work of its thread, few of them should be open.
constexpr std::chrono::milliseconds first_poll_interval{5};
constexpr std::chrono::milliseconds longest_poll_interval{100};
constexpr std::chrono::milliseconds patience{10'000};  ///< for an answer, beside work and latency
/// The work of a case goes on while other requests of it come and go: so many take their time.
constexpr int requests_during_work = 5;
/// Long work takes so much more: a pause as long as it ends before the work.
constexpr std::chrono::milliseconds long_work_margin{2'000};
/// What a machine that was too late for a case is thought to take for an answer.
constexpr std::chrono::milliseconds late_latency{1'000};

std::string fresh_name(const std::string& prefix) {
  std::array<unsigned char, 12> bytes{};
  base::random_bytes(bytes);
  return prefix + base::to_hex(bytes);
}

/// The work, or a pause for it, at a server whose answers take their time.
milliseconds time_of(const target& target, duration wanted) {
  const auto count = wanted.is_long ? target.long_work : wanted.count;
  return count + requests_during_work * target.latency;
}

milliseconds time_of_work(const target& target, const request_plan& plan) {
  if (plan.delay.count.count() == 0 && !plan.delay.is_long) return milliseconds{0};
  const auto margin = plan.delay.is_long ? time_of(target, {long_work_margin}) : milliseconds{0};
  return time_of(target, plan.delay) + margin;
}

/// Puts the key, filled up to so many bytes, in the place of each "{key:N}".
void fill_up(std::string& text, const std::string& key) {
  constexpr std::string_view mark = "{key:";
  for (auto found = text.find(mark); found != text.npos; found = text.find(mark, found)) {
    const auto end = text.find('}', found);
    if (end == text.npos) return;
    const auto size = std::strtoul(text.c_str() + found + mark.size(), nullptr, 10);
    auto filled = key;
    filled.resize(std::min<std::size_t>(size, 2 * key_size_max), 'k');
    text.replace(found, end + 1 - found, filled);
  }
}

void replace_all(std::string& text, std::string_view mark, std::string_view value) {
  for (auto found = text.find(mark); found != text.npos;
       found = text.find(mark, found + value.size()))
    text.replace(found, mark.size(), value);
}

std::string target_path(const target& target, std::string_view path) {
  auto out = target.url.path;
  if (out.ends_with('/')) out.pop_back();
  return out.append(path);
}

/// A failed exchange is an answer without a status, and its fault is the body.
http1::answer exchange(const target& target, std::string_view method, std::string_view bytes,
                       milliseconds work) {
  const base::server_address address{target.url.address, {}};
  const auto timeout = patience + requests_during_work * target.latency + work;
  auto answer = http1::client(address).exchange(method, bytes, timeout);
  if (answer) return std::move(*answer);
  return {0, {}, answer.error().detail};
}

void append_begin(std::string& out, const target& target, std::string_view method,
                  std::string_view path) {
  http1::append_request_line(out, method, target_path(target, path));
  http1::append_field(out, "Host", base::authority_of(target.url.address));
  http1::append_field(out, "Connection", "close");
}

/// How often the service did the work of a counter.
result<std::uint64_t> count_runs(const target& target, const std::string& counter) {
  const auto path = "/conformance/runs/" + counter;
  std::string bytes;
  append_begin(bytes, target, "GET", path);
  http1::append_end_of_head(bytes);
  const auto answer = exchange(target, "GET", bytes, milliseconds{0});
  const auto document = json::parse(answer.body, nullptr, false);
  const auto runs = base::member<std::uint64_t>(document, "runs");
  if (answer.status == 200 && runs) return *runs;
  return error(errc::conflict, answer.status == 0
                                   ? answer.body
                                   : "GET " + target_path(target, path) + " was answered with " +
                                         std::to_string(answer.status) +
                                         " and no number of runs; is the test service there?");
}

/// Sends a request to the end, and goes away at will.
class passing_client {
 public:
  passing_client(const target& target, const std::string& bytes) {
    asio::ip::tcp::resolver resolver(io_);
    const auto& name = target.url.address;
    boost::system::error_code failed;
    const auto found = resolver.resolve(name.host, std::to_string(name.port), failed);
    if (!failed) asio::connect(socket_, found, failed);
    if (!failed) asio::write(socket_, asio::buffer(bytes), failed);
  }

  void leave(bool reset) {
    boost::system::error_code failed;
    if (reset) socket_.set_option(asio::socket_base::linger(true, 0), failed);
    socket_.close(failed);
  }

 private:
  asio::io_context io_;
  asio::ip::tcp::socket socket_{io_};
};

class case_run {
 public:
  case_run(const target& target, const test_case& test) : target_(target), test_(test) {}

  std::vector<difference> run() {
    for (const auto& step : test_.steps) {
      const auto before = differences_.size();
      act(step);
      if (differences_.size() == before) check_runs(step.expected.runs);
      answers_.resize(number_++);  // a step that only starts something has no answer
    }
    return std::move(differences_);
  }

  /// An answer came when the work beside which it belongs had to be over: it says little.
  bool was_late() const { return was_late_; }

  http1::answer send(const request_plan& plan) const {
    return exchange(target_, plan.method, bytes_of(plan), time_of_work(target_, plan));
  }

 private:
  void act(const step& step) {
    if (step.kind == step_kind::start) return start(step.request);
    if (step.kind == step_kind::leave) return leave(step);
    if (step.kind == step_kind::pause) return pause(time_of(target_, step.pause));
    if (step.kind == step_kind::await) {
      work_ends_.reset();
      return compare_all(step, {started_.extract(step.awaited).mapped().get()});
    }
    std::vector<std::future<http1::answer>> sent;
    for (std::size_t i = 1; i < step.times; ++i) sent.push_back(in_background(step.request));
    std::vector<http1::answer> answers{send(step.request)};
    for (auto& one : sent) answers.push_back(one.get());
    was_late_ = was_late_ || (work_ends_ && base::boot_now() > *work_ends_);
    compare_all(step, std::move(answers));
  }

  /// Compares each answer. The first successful one stands for the step.
  void compare_all(const step& step, std::vector<http1::answer> answers) {
    for (const auto& one : answers) compare(step.expected, one, answers_, number_, differences_);
    for (auto& one : answers) {
      if (one.status < 200 || one.status > 299) continue;
      std::swap(one, answers.front());
      break;
    }
    answers_.push_back(std::move(answers.front()));
  }

  void start(const request_plan& plan) {
    const auto before = count_runs(target_, counter_);
    work_ends_ = base::boot_now() + time_of_work(target_, plan);
    started_.emplace(number_ - 1, in_background(plan));
    await_begin(before);
  }

  void leave(const step& step) {
    const auto before = count_runs(target_, counter_);
    passing_client client(target_, bytes_of(step.request));
    await_begin(before);
    client.leave(step.reset);
  }

  /// Goes on when the service has begun, or after the patience for an answer.
  void await_begin(const result<std::uint64_t>& before) {
    const auto until = base::boot_now() + patience + requests_during_work * target_.latency;
    auto interval = first_poll_interval;
    while (base::boot_now() < until) {
      const auto runs = count_runs(target_, counter_);
      if (before && runs && *runs > *before) return;
      pause(interval);
      interval = std::min(2 * interval, longest_poll_interval);
    }
    differences_.push_back({number_, "start", "the work begins", "it did not begin"});
  }

  void pause(milliseconds time) { asio::steady_timer(timers_, time).wait(); }

  void check_runs(const std::vector<std::uint64_t>& allowed) {
    if (allowed.empty()) return;
    const auto runs = count_runs(target_, counter_);
    if (runs && std::find(allowed.begin(), allowed.end(), *runs) != allowed.end()) return;
    std::string expected;
    for (const auto one : allowed)
      expected += (expected.empty() ? "" : " or ") + std::to_string(one);
    const auto got = runs ? std::to_string(*runs) : runs.error().detail;
    differences_.push_back({number_, "runs", expected, got});
  }

  std::future<http1::answer> in_background(const request_plan& plan) {
    return std::async(std::launch::async, [this, &plan] { return send(plan); });
  }

  std::string filled(std::string text) const {
    replace_all(text, "{key}", key_);
    replace_all(text, "{other_key}", other_key_);
    replace_all(text, "{long_key}", long_key_);
    fill_up(text, key_);
    return text;
  }

  std::string work_of(const request_plan& plan) const {
    const auto delay = time_of_work(target_, plan);
    if (delay.count() == 0) return plan.work;
    auto work = json::parse(plan.work);
    work["delay"] = delay.count();
    return work.dump(-1, ' ', true);
  }

  static std::string chunks_of(const std::string& body) {
    std::string out;
    http1::append_chunk(out, std::string_view(body).substr(0, body.size() / 2));
    http1::append_chunk(out, std::string_view(body).substr(body.size() / 2));
    http1::append_last_chunk(out);
    return out;
  }

  std::string bytes_of(const request_plan& plan) const {
    std::string bytes;
    append_begin(bytes, target_, plan.method, plan.path);
    for (const auto& [name, value] : plan.fields) http1::append_field(bytes, name, filled(value));
    if (plan.caller) http1::append_field(bytes, "Authorization", "Bearer " + filled(*plan.caller));
    for (const auto& key : plan.keys) http1::append_field(bytes, "Idempotency-Key", filled(key));
    http1::append_field(bytes, "Conformance-Counter", counter_);
    if (!plan.work.empty()) http1::append_field(bytes, "Conformance-Work", work_of(plan));
    if (plan.chunked)
      http1::append_field(bytes, "Transfer-Encoding", "chunked");
    else if (!plan.body.empty() || (plan.method != "GET" && plan.method != "HEAD"))
      http1::append_content_length(bytes, plan.body.size());
    http1::append_end_of_head(bytes);
    return bytes + (plan.chunked ? chunks_of(plan.body) : plan.body);
  }

  const target& target_;
  const test_case& test_;
  const std::string counter_ = fresh_name("run-");
  const std::string key_ = fresh_name("key-");
  const std::string other_key_ = fresh_name("key-");
  const std::string long_key_ = key_ + std::string(key_size_max - key_.size(), 'k');
  std::size_t number_ = 1;  ///< of the step, from 1
  asio::io_context timers_;
  std::vector<http1::answer> answers_;
  std::vector<difference> differences_;
  /// Of started work that no step has awaited yet, at the earliest.
  std::optional<base::boot_clock::time_point> work_ends_;
  bool was_late_ = false;
  std::map<std::size_t, std::future<http1::answer>> started_;  ///< last: it waits for its threads
};

template <class Act>
milliseconds time_taken(const Act& act) {
  const auto begin = base::boot_now();
  act();
  return std::chrono::duration_cast<milliseconds>(base::boot_now() - begin);
}

/// The slowest of some guarded requests and questions for the count. The first round is not
/// counted: many servers get ready in it.
milliseconds slowest_answer(const target& target) {
  milliseconds slowest{0};
  for (int round = 0; round < 3; ++round) {
    const test_case nothing;
    const case_run one(target, nothing);
    const auto request = time_taken([&] { (void)one.send({}); });
    const auto question = time_taken([&] { (void)count_runs(target, fresh_name("run-")); });
    if (round > 0) slowest = std::max({slowest, request, question});
  }
  return slowest;
}

/// A test service that does not know `bytes` answers with its count.
bool answers_bytes(const target& target) {
  request_plan plan;
  plan.method = "GET";
  plan.keys.clear();
  plan.fields.clear();
  plan.body.clear();
  plan.work = R"({"bytes":true})";
  const test_case nothing;
  const auto answer = case_run(target, nothing).send(plan);
  return base::find_member(json::parse(answer.body, nullptr, false), "run") == nullptr;
}

}  // namespace

result<target> known(target service) {
  if (const auto runs = count_runs(service, fresh_name("run-")); !runs) return runs.error();
  service.latency = slowest_answer(service);
  service.answers_bytes = answers_bytes(service);
  return service;
}

std::vector<difference> run(const target& target, const test_case& test) {
  case_run first(target, test);
  auto differences = first.run();
  // Lateness explains another answer, never that the work was done once more.
  const bool ran_again = std::any_of(differences.begin(), differences.end(),
                                     [](const auto& one) { return one.subject == "runs"; });
  if (differences.empty() || ran_again || !first.was_late()) return differences;
  // The server, or what lies before it, is slower than it was at the start: longer work tells
  // whether that was all.
  auto slower = target;
  slower.latency = std::max(2 * target.latency, late_latency);
  return case_run(slower, test).run();
}

}  // namespace onceguard::conformance
