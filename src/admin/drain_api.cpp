#include "admin/drain_api.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "admin/act_reason.hpp"
#include "admin/responses.hpp"
#include "base/json_reader.hpp"

namespace onceguard::admin {

using reader = base::json_reader<nlohmann::json>;

namespace {

std::string read_drain(const reader& object) {
  object.has_only({"reason"});
  return read_reason(object);
}

/// Scripts of before send none: theirs is a drain without a reason, as a signal is.
result<std::string> reason_of(const request& wanted) {
  if (wanted.body.empty() || wanted.body == "{}") return std::string();
  return base::read_json<nlohmann::json>(wanted.body, "the body", read_drain);
}

response drain(const audit_source& audit, const std::function<void(const std::string&)>& begin,
               const request& wanted) {
  const auto reason = reason_of(wanted);
  if (!reason) return refusal(422, reason.error().detail);
  auto* log = audit();
  if (log == nullptr) return refusal(503, "The audit log is not open.");
  audited_change change;
  change.action = "drain";
  change.former = "working";
  change.wanted = "draining";
  const audit_author author{wanted.sender.name, "admin", *reason};
  if (const auto line = log->intend(author, change); !line) {
    return refusal(503, line.error().detail + "; nothing was changed");
  }
  begin(wanted.sender.name);
  nlohmann::ordered_json body{{"draining", true}};
  if (const auto line = log->conclude(author, change, "done"); !line) {
    body["audit_not_written"] = line.error().detail;
  }
  auto out = json_response(body);
  out.status = 202;
  return out;
}

}  // namespace

resources drain_resources(audit_source audit, std::function<void(const std::string&)> begin) {
  resources out;
  out.push_back({"POST", "/api/drain", access::act,
                 [audit = std::move(audit), begin = std::move(begin)](
                     const request& wanted) -> boost::asio::awaitable<response> {
                   co_return drain(audit, begin, wanted);
                 }});
  return out;
}

}  // namespace onceguard::admin
