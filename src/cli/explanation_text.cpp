// The two forms in which an explanation is shown.
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

std::string explanation_page(const explanation& told, const std::optional<record_view>& current,
                             const std::optional<bool>& same_request,
                             const std::string& store_note) {
  std::string out =
      line("route", told.route + (told.methods.empty() ? "" : " (" + joined(told.methods) + ")"));
  out += line("upstream", told.upstream);
  if (told.kind == explanation::effect::refuse) {
    out += line("refused", std::to_string(told.status) + " " + told.problem);
    return out + line("why", plain_text(told.reason) == told.reason ? told.reason
                                                                    : terminal_text(told.reason));
  }
  if (told.kind == explanation::effect::pass) return out + line("guarded", "no: " + told.reason);
  out += line("guarded", "yes");
  out += line("key", plain_text(told.key));
  out += line("scope", base::to_hex(told.scope) + " (" + plain_text(told.scope_kind) + ")");
  out += line("fingerprint",
              base::to_hex(told.print.value) + " (" + plain_text(told.print.method) + ")");
  out += line("record", base::to_hex(told.id));
  for (const auto& warning : told.warnings) out += line("warning", warning);
  if (!store_note.empty()) return out + line("store", store_note);
  if (!current) return out + line("store", "no such record: it would run");
  if (same_request) out += line("compared", std::string(comparison(*same_request)));
  return out + "\n" + record_page(*current);
}

nlohmann::ordered_json explanation_json(const explanation& told,
                                        const std::optional<record_view>& current,
                                        const std::optional<bool>& same_request,
                                        const std::string& store_note) {
  nlohmann::ordered_json out;
  out["route"] = told.route;
  out["methods"] = told.methods;
  out["upstream"] = told.upstream;
  out["guarded"] = told.kind == explanation::effect::guard;
  if (!told.reason.empty()) out["reason"] = told.reason;
  if (told.kind == explanation::effect::refuse) {
    out["status"] = told.status;
    out["problem"] = told.problem;
  }
  if (told.kind != explanation::effect::guard) return out;
  out["key"] = told.key;
  out["scope"] = base::to_hex(told.scope);
  out["scope_kind"] = told.scope_kind;
  out["fingerprint"] = base::to_hex(told.print.value);
  out["fingerprint_method"] = told.print.method;
  out["record"] = base::to_hex(told.id);
  out["warnings"] = told.warnings;
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
