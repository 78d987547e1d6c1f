#include "trace/span_json.hpp"

#include <span>

#include "base/hex.hpp"
#include "json/scalars.hpp"
#include "trace/tracer.hpp"

namespace onceguard::trace {
namespace {

constexpr std::size_t digest_digits = 12;  // as in the log

/// Quotes a text of a client, which may not be UTF-8: what is not ASCII becomes a percent escape.
void append_span_text(std::string& out, std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      plain += c;
    } else {
      plain += '%';
      base::append_hex(plain, std::span(&byte, 1));
    }
  }
  append_json_string(out, plain);
}

void append_span_time(std::string& out, std::string_view name, std::int64_t wall_us) {
  out.append(R"(,")").append(name).append(R"(":")").append(std::to_string(wall_us)).append("000\"");
}

}  // namespace

span_writer::span_writer(std::string& out, const http::trace_id& trace, const http::span_id& span)
    : out_(out) {
  out_ += R"({"traceId":")";
  base::append_hex(out_, trace);
  out_ += R"(","spanId":")";
  base::append_hex(out_, span);
  out_ += '"';
}

void span_writer::parent(const http::span_id& span) {
  out_ += R"(,"parentSpanId":")";
  base::append_hex(out_, span);
  out_ += '"';
}

void span_writer::name(std::string_view text, std::string_view detail) {
  std::string whole(text);
  if (!detail.empty()) whole.append(" ").append(detail);
  out_ += R"(,"name":)";
  append_span_text(out_, whole.empty() ? "HTTP" : whole);  // its head was malformed
}

void span_writer::kind(span_kind kind) {
  out_.append(R"(,"kind":)").append(std::to_string(static_cast<int>(kind)));
}

void span_writer::times(std::int64_t wall_us, std::chrono::microseconds begin,
                        std::chrono::microseconds end) {
  append_span_time(out_, "startTimeUnixNano", wall_us + begin.count());
  append_span_time(out_, "endTimeUnixNano", wall_us + end.count());
}

void span_writer::link(const http::trace_id& trace, const http::span_id& span) {
  out_ += R"(,"links":[{"traceId":")";
  base::append_hex(out_, trace);
  out_ += R"(","spanId":")";
  base::append_hex(out_, span);
  out_ += R"("}])";
}

void span_writer::status(bool failed) {
  out_ += failed ? R"(,"status":{"code":2})" : R"(,"status":{})";
}

void span_writer::request_attributes(const http::request_report& report) {
  out_ += ',';
  attribute_writer attributes(out_);
  attributes.text("http.request.method", report.method);
  attributes.text("url.path", report.path);
  attributes.text("http.route", report.route);
  attributes.text("client.address", report.client);
  if (report.status != 0) attributes.number("http.response.status_code", report.status);
  if (report.status == 0) attributes.text("error.type", "client_left");
  if (report.status >= 500) {
    const auto status = std::to_string(report.status);
    attributes.text("error.type", report.problem.empty() ? status : report.problem);
  }
  attributes.text("onceguard.outcome", name_of(report.outcome));
  if (report.outcome == http::request_outcome::observed) {
    attributes.text("onceguard.would_be", name_of(report.would_be));
  }
  if (report.outcome == http::request_outcome::unguarded) {
    attributes.text("onceguard.why_unguarded", name_of(report.why_unguarded));
  }
  attributes.text("onceguard.problem", report.problem);
  attributes.text("onceguard.settled", settled_name(report));
  if (report.record != nullptr) {
    attributes.text("onceguard.record", base::to_hex(*report.record).substr(0, digest_digits));
  }
  if (report.attempt != 0) attributes.number("onceguard.attempt", report.attempt);
}

void span_writer::upstream_attributes(const http::request_report& report) {
  out_ += ',';
  attribute_writer attributes(out_);
  attributes.text("http.request.method", report.method);
  attributes.text("onceguard.upstream", report.upstream);
  if (report.upstream_status != 0) {
    attributes.number("http.response.status_code", report.upstream_status);
  }
}

void attribute_writer::begin(std::string_view key) {
  if (!first_) out_ += ',';
  first_ = false;
  out_ += R"({"key":)";
  append_span_text(out_, key);
  out_ += R"(,"value":)";
}

void attribute_writer::text(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  begin(key);
  out_ += R"({"stringValue":)";
  append_span_text(out_, value);
  out_ += "}}";
}

void attribute_writer::number(std::string_view key, std::uint64_t value) {
  begin(key);
  out_.append(R"({"intValue":")").append(std::to_string(value)).append("\"}}");
}

std::string export_body(const attribute_list& resource, std::string_view version,
                        const std::vector<std::string>& batch) {
  std::string out = R"({"resourceSpans":[{"resource":{)";
  {
    attribute_writer attributes(out);
    for (const auto& [name, value] : resource) attributes.text(name, value);
  }
  out += R"(},"scopeSpans":[{"scope":{"name":"onceguard","version":)";
  append_span_text(out, version);
  out += R"(},"spans":[)";
  bool first = true;
  for (const auto& spans : batch) {
    if (!first) out += ',';
    first = false;
    out += spans;
  }
  return out += "]}]}]}";
}

}  // namespace onceguard::trace
