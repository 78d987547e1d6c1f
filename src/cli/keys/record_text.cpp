#include "cli/keys/record_text.hpp"

#include <algorithm>

#include "base/hex.hpp"
#include "config/table/parsers.hpp"
#include "store/record_view.hpp"
#include "store/sealed/sealed_answer.hpp"
#include "text/json_text.hpp"
#include "text/record_json.hpp"
#include "text/terminal_text.hpp"

namespace onceguard::cli::keys {
namespace {

std::string why_text(const record_view& seen) {
  const auto why = reason_of(seen);
  if (why == unknown_reason::none) return {};
  std::string out(name_of(why));
  if (seen.stored.why_status != 0) out += " " + std::to_string(seen.stored.why_status);
  return out;
}

std::string duration_or_never(milliseconds left) {
  return left.count() == 0 ? "never" : "in " + config::duration_text(left);
}

class page {
 public:
  void line(std::string_view name, const std::string& value) {
    constexpr std::size_t column = 14;
    text_ += name;
    text_.append(name.size() < column ? column - name.size() : 1, ' ');
    text_ += value + "\n";
  }
  void raw(std::string_view text) { text_ += text; }
  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

void add_answer(page& out, const record_view& seen) {
  const auto& r = seen.stored;
  if (!r.answer) {
    out.line("answer", "not kept (" + std::string(name_of(r.kept)) + ")");
    return;
  }
  const auto& a = *r.answer;
  out.line("answer",
           std::to_string(a.status) + ", " + std::to_string(a.headers.size()) +
               " headers, body of " + std::to_string(std::max(a.body.size(), seen.body_size)) +
               " bytes" +
               (r.kept == answer_kept::full ? "" : " (" + std::string(name_of(r.kept)) + ")"));
  for (const auto& [name, value] : a.headers) {
    out.raw("  " + name + ": " + (is_utf8(value) ? terminal_text(value) : plain_text(value)) +
            "\n");
  }
  if (a.body.empty()) {
    if (seen.body_size != 0) out.raw("\n(the body is too long for the gateway's answer)\n");
    return;
  }
  if (!is_utf8(a.body)) {
    out.raw("\n(the body is no text; --body writes it as it is)\n");
    return;
  }
  out.raw("\n");
  out.raw(terminal_text(a.body));
  out.raw(a.body.ends_with('\n') ? "" : "\n");
}

}  // namespace

std::string record_line(const record_view& seen) {
  const auto& r = seen.stored;
  std::string state(name_of(seen.state));
  state.resize(std::max<std::size_t>(state.size(), 11), ' ');
  std::string out = state + "  " + time_text(r.claimed_at_wall) + "  " +
                    base::digest_text(r.about->scope) + "  " + plain_text(r.about->method) + " " +
                    plain_text(r.about->path) + "  " + plain_text(r.about->key);
  if (const auto why = why_text(seen); !why.empty()) out += "  (" + why + ")";
  return out;
}

std::string seen_text(const record_view& seen) {
  auto out = std::to_string(seen.stored.token);
  if (seen.revision) out += '-' + std::to_string(*seen.revision);
  return out;
}

std::string record_page(const record_view& seen) {
  const auto& r = seen.stored;
  page out;
  out.line("key", plain_text(r.about->key));
  out.line("scope", base::to_hex(r.about->scope) + " (" + plain_text(r.about->scope_kind) + ")");
  out.line("record", base::to_hex(seen.id));
  const auto* other = r.by_operator      ? ", by an operator"
                      : r.by_application ? ", by the application"
                                         : "";
  out.line("state", std::string(name_of(seen.state)) + other);
  if (const auto why = why_text(seen); !why.empty()) out.line("why", why);
  out.line("request", plain_text(r.about->method) + " " + plain_text(r.about->path));
  out.line("route", plain_text(r.about->route));
  out.line("fingerprint",
           base::to_hex(r.about->print.value) + " (" + plain_text(r.about->print.method) + ")");
  out.line("attempt", std::to_string(r.attempt));
  if (seen.recovery) out.line("step", plain_text(seen.recovery->step));
  out.line("token", std::to_string(r.token));
  out.line("seen", seen_text(seen));
  out.line("claimed", time_text(r.claimed_at_wall));
  if (r.settled_at_wall != 0) out.line("settled", time_text(r.settled_at_wall));
  if (seen.lease_left.count() > 0) {
    out.line("lease", "ends in " + config::duration_text(seen.lease_left));
  }
  if (seen.retry_after.count() > 0) {
    out.line("retry", "in " + config::duration_text(seen.retry_after));
  }
  out.line("forgotten", duration_or_never(seen.retention_left));
  if (r.incident) out.line("incident", "completed though no such record stood there");
  if (r.maybe_repeated) out.line("repeated", "perhaps: it ran after the store lost its memory");
  if (r.state == record_state::completed) add_answer(out, seen);
  return std::move(out).text();
}

std::string record_line(const unreadable_record& seen) {
  const std::string state = sealed::lacks_key(seen.why) ? "completed   " : "unreadable  ";
  return state + " record " + base::to_hex(seen.id) + "  (" + plain_text(seen.why) + ")";
}

std::string record_page(const unreadable_record& seen) {
  page out;
  out.line("record", base::to_hex(seen.id));
  out.line("state", sealed::lacks_key(seen.why)
                        ? "completed, and its answer can't be read here: its requests are refused"
                        : "unreadable: its requests are refused");
  out.line("why", plain_text(seen.why));
  return std::move(out).text();
}

}  // namespace onceguard::cli::keys
