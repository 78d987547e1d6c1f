#include "http/access_log.hpp"

#include <array>
#include <span>
#include <string>

#include "base/hex.hpp"
#include "base/log.hpp"

namespace onceguard::http {
namespace {

// A path may be as long as a head.
constexpr std::size_t path_max = 512;

bool unguarded_by_rule(const request_report& report) noexcept {
  return report.outcome == request_outcome::unguarded &&
         report.why_unguarded != unguarded_reason::store;
}

/// The fields that apply to a request, on the stack.
class field_list {
 public:
  void add(std::string_view name, base::log_value value) { fields_[size_++] = {name, value}; }
  void add_text(std::string_view name, std::string_view text) {
    if (!text.empty()) add(name, text);
  }
  void add_number(std::string_view name, std::uint64_t number) {
    if (number != 0) add(name, number);
  }
  void add_step(std::string_view name, std::chrono::microseconds time) {
    if (time.count() != 0) add(name, time);
  }
  [[nodiscard]] std::span<const base::log_field> all() const noexcept {
    return std::span(fields_).first(size_);
  }

 private:
  static constexpr std::size_t most = 24;
  std::array<base::log_field, most> fields_{};
  std::size_t size_ = 0;
};

}  // namespace

void access_log::finished(const request_report& report) noexcept {
  if (rule_ == access_log_rule::off) return;
  if (rule_ == access_log_rule::guarded && unguarded_by_rule(report)) return;
  // The views of the fields need them until the line is written.
  const auto record = report.record == nullptr ? std::string() : base::digest_text(*report.record);
  const auto scope = report.scope == nullptr ? std::string() : base::digest_text(*report.scope);
  field_list fields;
  fields.add("outcome", name_of(report.outcome));
  if (report.outcome == request_outcome::unguarded) {
    fields.add("why", name_of(report.why_unguarded));
  }
  if (report.outcome == request_outcome::observed) {
    fields.add("would_be", name_of(report.would_be));
  }
  fields.add_text("settled", settled_name(report));
  if (report.unknown_why != unknown_reason::none) {
    fields.add("reason", name_of(report.unknown_why));
  }
  const bool would_be_refused = !report.would_be_problem.empty();
  fields.add_text("problem", would_be_refused ? report.would_be_problem : report.problem);
  fields.add("status", report.status);
  fields.add_text("route", report.route);
  fields.add_text("method", report.method);
  fields.add_text("path", report.path.substr(0, path_max));
  fields.add_text("record", record);
  fields.add_text("scope", scope);
  fields.add_number("attempt", report.attempt);
  fields.add("ms", report.total);
  fields.add_step("claim_ms", report.claim);
  fields.add_step("upstream_ms", report.upstream_time);
  fields.add_step("settle_ms", report.settle);
  fields.add_text("upstream", report.upstream);
  fields.add_number("upstream_status", report.upstream_status);
  fields.add_text("client", report.client);
  fields.add_text("trace", report.trace_id);
  base::log_fields(base::event::request, fields.all());
}

}  // namespace onceguard::http
