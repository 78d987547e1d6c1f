#include "cli/stores/finding_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/hex.hpp"
#include "base/time_text.hpp"
#include "cli/keys/record_text.hpp"
#include "config/table/parsers.hpp"
#include "store/record_view.hpp"
#include "text/record_json.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::stores {
namespace {

std::string words_of(finding_kind kind) {
  std::string out(name_of(kind));
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

}  // namespace

std::string finding_line(const finding& found) {
  constexpr std::size_t column = 13;
  auto value = words_of(found.kind);
  value.resize(std::max(value.size(), column), ' ');
  std::string out =
      (found.preview ? "preview: " : "") + value + "  " + keys::record_line(found.seen);
  if (!found.means.empty()) out += "  by " + std::string(found.means);
  if (!found.why.empty()) out += ": " + plain_text(found.why);
  if (found.retry_after.count() > 0) {
    out += ", try again in " + config::duration_text(found.retry_after);
  }
  return out;
}

std::string finding_json(const finding& found) {
  const auto& r = found.seen.stored;
  nlohmann::ordered_json out;
  out["decided"] = name_of(found.kind);
  out["means"] = found.means;
  out["dry_run"] = found.preview;
  out["scope"] = base::to_hex(r.about->scope);
  out["key"] = r.about->key;
  out["route"] = r.about->route;
  out["record"] = base::to_hex(found.seen.id);
  out["method"] = r.about->method;
  out["path"] = r.about->path;
  out["was_unknown"] = name_of(reason_of(found.seen));
  if (r.why_status != 0) out["was_unknown_status"] = r.why_status;
  out["claimed_at"] = base::time_text(r.claimed_at_wall);
  out["fenced_with"] = found.fenced_with;
  out["retry_after_ms"] = found.retry_after.count();
  out["why"] = found.why;
  return json_line(out);
}

std::string summary(const reconcile_counts& counts, bool preview) {
  std::string out;
  const auto add = [&](std::size_t number, finding_kind kind) {
    if (number == 0) return;
    out += (out.empty() ? "" : ", ") + std::to_string(number) + " " + words_of(kind);
  };
  add(counts.done, finding_kind::done);
  add(counts.not_done, finding_kind::not_done);
  add(counts.still_unknown, finding_kind::still_unknown);
  add(counts.too_early, finding_kind::too_early);
  add(counts.left_alone, finding_kind::left_alone);
  if (out.empty()) return "no record is unknown";
  return out + (preview ? "; nothing was changed" : "");
}

}  // namespace onceguard::cli::stores
