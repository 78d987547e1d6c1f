#include "admin/worker_api.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "admin/act_reason.hpp"
#include "admin/responses.hpp"
#include "base/clock.hpp"
#include "base/json_reader.hpp"
#include "text/json_text.hpp"

namespace onceguard::admin {

using boost::asio::awaitable;
using nlohmann::ordered_json;
using reader = base::json_reader<nlohmann::json>;

namespace {

/// Whether one of the labels is the worker's name.
bool is_of(const std::vector<name_and_text>& labels, const std::string& name) {
  return std::ranges::any_of(labels, [&](const auto& label) {
    return (label.first == "subscriber" || label.first == "relay") && label.second == name;
  });
}

ordered_json worker_json(const worker_list& workers, const worker_state& now,
                         const std::string& name) {
  ordered_json out;
  out["name"] = name;
  out["paused"] = workers.pauses.paused(name);
  out["reasons"] = ordered_json::array();
  for (const auto& members : now.reasons) {
    const bool of_another = members.size() > 1 && members[1].first != "why";
    if (of_another && !is_of(members, name)) continue;
    auto& reason = out["reasons"].emplace_back();
    for (const auto& [member, text] : members) reason[std::string(member)] = text;
  }
  out["numbers"] = ordered_json::array();
  for (const auto& one : now.measurements) {
    if (!is_of(one.labels, name)) continue;
    ordered_json entry{{"name", one.name}, {"meaning", one.meaning}, {"value", one.value}};
    for (const auto& [label, text] : one.labels) {
      if (label == "outcome") entry["outcome"] = text;
    }
    out["numbers"].push_back(std::move(entry));
  }
  return out;
}

response list_workers(const worker_list& workers) {
  const auto now = workers.read();
  // When the process began to serve this: another time is another process.
  static const auto begun_at = time_text(base::system_clock().wall_ms());
  ordered_json body{{"begun_at", begun_at}};
  body["workers"] = ordered_json::array();
  for (const auto& name : workers.names) {
    body["workers"].push_back(worker_json(workers, now, name));
  }
  return json_response(body);
}

std::string read_act(const reader& object) {
  object.has_only({"reason"});
  return read_reason(object);
}

response change_worker(const worker_list& workers, bool halt, const request& wanted) {
  const auto name = worker_of(wanted);
  if (std::ranges::find(workers.names, name) == workers.names.end()) {
    return refusal(404, "There is no such worker.");
  }
  const auto reason = base::read_json<nlohmann::json>(wanted.body, "the body", read_act);
  if (!reason) return refusal(422, reason.error().detail);
  auto* log = workers.audit();
  if (log == nullptr) return refusal(503, "The audit log can't be opened.");
  const auto state = [](bool paused) { return paused ? "paused" : "working"; };
  audited_change change;
  change.action = halt ? "pause" : "resume";
  change.key = name;
  change.former = state(workers.pauses.paused(name));
  change.wanted = state(halt);
  const audit_author author{wanted.sender.name, "admin", *reason};
  if (const auto line = log->intend(author, change); !line) {
    return refusal(503, line.error().detail);
  }
  if (halt) {
    workers.pauses.pause(name);
  } else {
    workers.pauses.resume(name);
  }
  ordered_json body{{"name", name}, {"paused", halt}};
  if (const auto line = log->conclude(author, change, "done"); !line) {
    body["audit_not_written"] = line.error().detail;
  }
  return json_response(body);
}

}  // namespace

std::string worker_of(const request& wanted) {
  // Of any other segment the parameter would hide whom a proxy's log and rules see.
  const auto given = wanted.parameter("worker");
  return wanted.segment == "-" && !given.empty() ? std::string(given) : wanted.segment;
}

resources worker_act_resources(worker_list workers) {
  const auto all = std::make_shared<const worker_list>(std::move(workers));
  resources out;
  out.push_back({"GET", "/api/workers", access::view,
                 [all](const request&) -> awaitable<response> { co_return list_workers(*all); }});
  for (const bool pause : {true, false}) {
    out.push_back({"POST", pause ? "/api/workers/{worker}/pause" : "/api/workers/{worker}/resume",
                   access::act, [all, pause](const request& wanted) -> awaitable<response> {
                     co_return change_worker(*all, pause, wanted);
                   }});
  }
  return out;
}

}  // namespace onceguard::admin
