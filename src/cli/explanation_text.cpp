// Writes an explanation as text or as JSON.
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "cli/explanation.hpp"
#include "cli/json_text.hpp"
#include "cli/record_text.hpp"

namespace onceguard::cli {
namespace {

std::string line(std::string_view name, const std::string& value) {
  std::string out(name);
  out.resize(14, ' ');
  return out + value + "\n";
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string_view comparison(bool same) {
  return same ? "the same request" : "another request: it would get 422 key-reused";
}

}  // namespace

std::string explanation_page(const explanation& reply, const std::optional<record_view>& current,
                             const std::optional<bool>& same_request,
                             const std::string& store_note) {
  std::string out = line(
      "route", reply.route + (reply.methods.empty() ? "" : " (" + joined(reply.methods) + ")"));
  out += line("upstream", reply.upstream);
  if (reply.kind == explanation::effect::refuse) {
    out += line("refused", std::to_string(reply.status) + " " + reply.problem);
    return out + line("why", plain_text(reply.reason) == reply.reason
                                 ? reply.reason
                                 : terminal_text(reply.reason));
  }
  if (reply.kind == explanation::effect::pass) return out + line("guarded", "no: " + reply.reason);
  out += line("guarded", "yes");
  out += line("key", plain_text(reply.key));
  out += line("scope", base::to_hex(reply.scope) + " (" + plain_text(reply.scope_kind) + ")");
  out += line("fingerprint",
              base::to_hex(reply.print.value) + " (" + plain_text(reply.print.method) + ")");
  out += line("record", base::to_hex(reply.id));
  for (const auto& warning : reply.warnings) out += line("warning", warning);
  if (!store_note.empty()) return out + line("store", store_note);
  if (!current) return out + line("store", "no such record: it would run");
  if (same_request) out += line("compared", std::string(comparison(*same_request)));
  return out + "\n" + record_page(*current);
}

nlohmann::ordered_json explanation_json(const explanation& reply,
                                        const std::optional<record_view>& current,
                                        const std::optional<bool>& same_request,
                                        const std::string& store_note) {
  nlohmann::ordered_json out;
  out["route"] = reply.route;
  out["methods"] = reply.methods;
  out["upstream"] = reply.upstream;
  out["guarded"] = reply.kind == explanation::effect::guard;
  if (!reply.reason.empty()) out["reason"] = reply.reason;
  if (reply.kind == explanation::effect::refuse) {
    out["status"] = reply.status;
    out["problem"] = reply.problem;
  }
  if (reply.kind != explanation::effect::guard) return out;
  out["key"] = reply.key;
  out["scope"] = base::to_hex(reply.scope);
  out["scope_kind"] = reply.scope_kind;
  out["fingerprint"] = base::to_hex(reply.print.value);
  out["fingerprint_method"] = reply.print.method;
  out["record"] = base::to_hex(reply.id);
  out["warnings"] = reply.warnings;
  if (!store_note.empty()) {
    out["store"] = store_note;
  } else if (current) {
    out["current"] = record_json(*current, false);
    if (same_request) out["same_request"] = *same_request;
  } else {
    out["current"] = nullptr;
  }
  return out;
}

}  // namespace onceguard::cli
