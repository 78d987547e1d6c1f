#include "conformance/runner.hpp"

#include <array>
#include <chrono>
#include <future>
#include <map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "http1/message.hpp"

namespace onceguard::conformance {
namespace {

namespace asio = boost::asio;
using nlohmann::json;

constexpr std::size_t key_size_max = 255;
constexpr std::chrono::milliseconds poll_interval{5};

std::string fresh_name(const std::string& prefix) {
  std::array<unsigned char, 12> bytes{};
  base::random_bytes(bytes);
  return prefix + base::to_hex(bytes);
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
http1::answer exchange(const target& target, std::string_view method, std::string_view bytes) {
  const gateway::admin_address address{target.url.address, {}};
  auto answer = http1::exchange(address, method, bytes, target.patience);
  if (answer) return std::move(*answer);
  return {0, {}, answer.error().detail};
}

void append_begin(std::string& out, const target& target, std::string_view method,
                  std::string_view path) {
  http1::append_request_line(out, method, target_path(target, path));
  http1::append_field(out, "Host", gateway::authority_of(target.url.address));
  http1::append_field(out, "Connection", "close");
}

/// How often the service did the work of a counter.
result<std::uint64_t> count_runs(const target& target, const std::string& counter) {
  const auto path = "/conformance/runs/" + counter;
  std::string bytes;
  append_begin(bytes, target, "GET", path);
  http1::append_end_of_head(bytes);
  const auto answer = exchange(target, "GET", bytes);
  const auto document = json::parse(answer.body, nullptr, false);
  if (answer.status == 200 && document.is_object() && document.contains("runs") &&
      document["runs"].is_number_unsigned())
    return document["runs"].get<std::uint64_t>();
  return error(errc::conflict, answer.status == 0
                                   ? answer.body
                                   : "GET " + target_path(target, path) + " was answered with " +
                                         std::to_string(answer.status) +
                                         " and no number of runs; is the test service there?");
}

class case_run {
 public:
  case_run(const target& target, const test_case& test) : target_(target), test_(test) {}

  std::vector<difference> run() {
    for (const auto& step : test_.steps) {
      const auto before = differences_.size();
      act(step);
      if (step.expected.runs && differences_.size() == before) check_runs(*step.expected.runs);
      answers_.resize(number_++);  // a step that only starts something has no answer
    }
    return std::move(differences_);
  }

 private:
  void act(const step& step) {
    if (step.kind == step_kind::start) return start(step.request);
    if (step.kind == step_kind::await)
      return compare_all(step, {started_.extract(step.awaited).mapped().get()});
    std::vector<std::future<http1::answer>> sent;
    for (std::size_t i = 1; i < step.times; ++i) sent.push_back(in_background(step.request));
    std::vector<http1::answer> answers{send(step.request)};
    for (auto& one : sent) answers.push_back(one.get());
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

  /// Goes on when the service has begun, or after the patience for an answer.
  void start(const request_plan& plan) {
    const auto before = count_runs(target_, counter_);
    started_.emplace(number_ - 1, in_background(plan));
    for (auto left = target_.patience; left.count() > 0; left -= poll_interval) {
      const auto runs = count_runs(target_, counter_);
      if (before && runs && *runs > *before) return;
      asio::steady_timer(timers_, poll_interval).wait();
    }
    differences_.push_back({number_, "start", "the work begins", "it did not begin"});
  }

  void check_runs(std::uint64_t expected) {
    const auto runs = count_runs(target_, counter_);
    const auto got = runs ? std::to_string(*runs) : runs.error().detail;
    if (got != std::to_string(expected))
      differences_.push_back({number_, "runs", std::to_string(expected), got});
  }

  std::future<http1::answer> in_background(const request_plan& plan) {
    return std::async(std::launch::async, [this, &plan] { return send(plan); });
  }

  std::string filled(std::string text) const {
    replace_all(text, "{key}", key_);
    replace_all(text, "{other_key}", other_key_);
    replace_all(text, "{long_key}", long_key_);
    return text;
  }

  http1::answer send(const request_plan& plan) const {
    std::string bytes;
    append_begin(bytes, target_, plan.method, plan.path);
    for (const auto& [name, value] : plan.fields) http1::append_field(bytes, name, filled(value));
    for (const auto& key : plan.keys) http1::append_field(bytes, "Idempotency-Key", filled(key));
    http1::append_field(bytes, "Conformance-Counter", counter_);
    if (!plan.work.empty()) http1::append_field(bytes, "Conformance-Work", plan.work);
    if (!plan.body.empty() || (plan.method != "GET" && plan.method != "HEAD"))
      http1::append_content_length(bytes, plan.body.size());
    http1::append_end_of_head(bytes);
    return exchange(target_, plan.method, bytes + plan.body);
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
  std::map<std::size_t, std::future<http1::answer>> started_;  ///< last: it waits for its threads
};

}  // namespace

result<void> find_service(const target& target) {
  const auto runs = count_runs(target, fresh_name("run-"));
  if (!runs) return runs.error();
  return {};
}

std::vector<difference> run(const target& target, const test_case& test) {
  return case_run(target, test).run();
}

}  // namespace onceguard::conformance
