// The test service of docs/conformance.md, which the example servers run behind their guard so that
// `onceguard conformance` can check them. A service of your own has no use for it.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include <onceguard/http.hpp>

namespace conformance {

/// What the kit asks of the server.
struct work {
  std::chrono::milliseconds delay{0};  ///< before the answer
  bool broken = false;                 ///< there is no answer: the handler is to throw
  onceguard::http::response answer;
};

inline bool is_work(std::string_view target) { return target.starts_with("/conformance"); }

/// The routes that the kit expects.
inline onceguard::http::middleware_params params() {
  onceguard::http::middleware_params out;
  out.routes.push_back({.host = "", .path = "/conformance/required", .method = {}, .policy = {}});
  out.routes.back().policy.required = true;
  return out;
}

/// The bytes 0 to 255.
inline std::string all_bytes() {
  std::string out;
  for (int byte = 0; byte < 256; ++byte) out += static_cast<char>(byte);
  return out;
}

/// Counts a run. Thread-safe. `counter` and `plan` are Conformance-Counter and Conformance-Work.
inline work begin(std::string_view method, std::string_view target, std::string_view counter,
                  std::string_view plan) {
  using nlohmann::json;
  static std::mutex mutex;
  static std::map<std::string, std::uint64_t, std::less<>> runs;
  const std::lock_guard lock(mutex);
  constexpr std::string_view question = "/conformance/runs/";
  if (method == "GET" && target.starts_with(question)) {
    const auto found = runs.find(target.substr(question.size()));
    return {.answer = {200, {}, json{{"runs", found == runs.end() ? 0 : found->second}}.dump()}};
  }
  const auto run = ++runs[std::string(counter)];
  const auto wanted = plan.empty() ? json::object() : json::parse(plan);
  work out{.delay = std::chrono::milliseconds(wanted.value("delay", 0)),
           .broken = wanted.value("break", false),
           .answer = {wanted.value("status", std::uint16_t{201}), {}, ""}};
  for (const auto& field : wanted.value("fields", json::array())) {
    out.answer.headers.emplace_back(field.at(0), field.at(1));
  }
  const bool bytes = wanted.value("bytes", false);
  out.answer.headers.emplace_back("Content-Type",
                                  bytes ? "application/octet-stream" : "application/json");
  if (method == "HEAD" || out.answer.status == 204) return out;
  out.answer.body = wanted.contains("size") ? std::string(wanted["size"].get<std::size_t>(), 'x')
                                            : json{{"run", run}}.dump();
  if (bytes) out.answer.body = all_bytes();
  return out;
}

/// The same in a handler that blocks.
inline onceguard::http::response serve(const onceguard::http::request& request) {
  std::string_view counter;
  std::string_view plan;
  for (const auto& field : request.fields) {
    if (field.name == "Conformance-Counter") counter = field.value;
    if (field.name == "Conformance-Work") plan = field.value;
  }
  auto wanted = begin(request.method, request.target, counter, plan);
  std::this_thread::sleep_for(wanted.delay);
  if (wanted.broken) throw std::runtime_error("the work ended without an answer");
  return std::move(wanted.answer);
}

}  // namespace conformance
