#include "admin/audit_api.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "admin/responses.hpp"
#include "base/number_in.hpp"
#include "core/kept_key.hpp"

namespace onceguard::admin {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t page_max = 1'000;

ordered_json entry_json(const audit_entry& entry) {
  return {{"at", entry.time},       {"stage", entry.stage}, {"action", entry.action},
          {"who", entry.author},    {"means", entry.means}, {"why", entry.why},
          {"record", entry.record}, {"key", entry.key},     {"from", entry.former},
          {"to", entry.wanted},     {"about", entry.about}};
}

/// Why a parameter is refused; empty: it is not.
std::string take_parameter(const std::string& name, const std::string& value, audit_query& out) {
  if (value.empty()) return name + ": it is empty";
  if (name == "limit") {
    const auto limit = base::number_in<std::size_t>(value, 1, page_max);
    if (!limit) return "limit: a number from 1 to 1000 was expected";
    out.limit = *limit;
    return {};
  }
  const std::pair<std::string_view, std::string*> members[]{{"key", &out.key},
                                                            {"who", &out.author},
                                                            {"record", &out.record},
                                                            {"cursor", &out.cursor},
                                                            {"after", &out.after}};
  for (const auto& [known, member] : members) {
    if (name != known) continue;
    if (!member->empty()) return name + ": given twice";
    // A part of a kept form may be looked for, as of a key.
    const bool clear = name == "key" && !value.starts_with(core::kept_prefix);
    *member = clear ? core::kept_key(value) : value;
    return {};
  }
  return name + ": there is no such parameter";
}

response read_audit(const audit_source& audit, const request& wanted) {
  audit_query query;
  for (const auto& [name, value] : wanted.query) {
    if (const auto fault = take_parameter(name, value, query); !fault.empty()) {
      return refusal(400, fault);
    }
  }
  const auto* log = audit();
  if (log == nullptr) return refusal(503, "The gateway is not ready yet.");
  const auto page = log->read(query);
  if (!page) {
    return refusal(page.error().code == errc::invalid_argument ? 400 : 503, page.error().detail);
  }
  ordered_json body;
  body["kept"] = page->in_memory ? "memory" : "file";
  body["entries"] = ordered_json::array();
  for (const auto& entry : page->entries) body["entries"].push_back(entry_json(entry));
  body["unreadable"] = page->unreadable;
  body["cursor"] = page->cursor;
  body["newest"] = page->newest;
  body["follows"] = page->follows;
  return json_response(body);
}

}  // namespace

resources audit_resources(audit_source audit) {
  resources out;
  out.push_back(
      {"GET", "/api/audit", access::view,
       [audit = std::move(audit)](const request& wanted) -> boost::asio::awaitable<response> {
         co_return read_audit(audit, wanted);
       }});
  return out;
}

}  // namespace onceguard::admin
