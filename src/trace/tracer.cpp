#include "trace/tracer.hpp"

#include <chrono>
#include <cstring>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "http/trace_context.hpp"
#include "trace/span_json.hpp"

namespace onceguard::trace {

using http::request_outcome;
using http::request_report;

namespace {

/// An id is never all zeros.
template <std::size_t Size>
void fill(std::array<unsigned char, Size>& id) {
  base::random_bytes(id);
  if (id == std::array<unsigned char, Size>{}) id.back() = 1;
}

std::uint64_t hash_of(const record_id& id) noexcept {
  std::uint64_t out = 0;
  std::memcpy(&out, id.data(), sizeof out);
  return out;
}

struct step {
  std::chrono::microseconds begin;
  std::chrono::microseconds length;
};

}  // namespace

tracer::tracer(const sampler_settings& sampler, span_queue& queue)
    : sampler_(sampler), queue_(queue) {}

bool tracer::samples(const http::trace_id& trace) const noexcept {
  if (sampler_.ratio >= 1.0) return true;
  // The same trace is sampled everywhere, or nowhere.
  std::uint64_t number = 0;
  for (std::size_t i = 8; i < trace.size(); ++i) number = number << 8 | trace[i];
  constexpr double range = 9223372036854775808.0;  // 2^63
  return static_cast<double>(number >> 1) < sampler_.ratio * range;
}

http::request_trace tracer::begin(const std::optional<http::trace_parent>& parent) const {
  http::request_trace out;
  if (parent) {
    out.trace = parent->trace;
    out.parent = parent->span;
    out.continued = true;
  } else {
    fill(out.trace);
  }
  fill(out.server);
  fill(out.upstream);
  out.sampled = parent && sampler_.parent_based ? parent->sampled : samples(out.trace);
  out.begin_wall = base::wall_microseconds();
  return out;
}

void tracer::finished(const request_report& report) noexcept {
  if (report.trace == nullptr || !report.trace->sampled) return;
  try {
    queue_.push(spans_of(report, exchange_run(report)));
  } catch (const std::exception&) {
    queue_.count_dropped(1);  // no memory
  }
}

/// Returns the latest run of the report's record, and remembers this one if it is a run.
std::optional<tracer::run> tracer::exchange_run(const request_report& report) {
  if (report.record == nullptr) return std::nullopt;
  const auto hash = hash_of(*report.record);
  if (report.outcome != request_outcome::ran || report.superseded) return runs_.find(hash);
  return runs_.update(hash, [&](run& known, bool found) {
    const auto before = found ? std::optional<run>(known) : std::nullopt;
    known = {report.trace->trace, report.trace->server};
    return before;
  });
}

std::string tracer::spans_of(const request_report& report, const std::optional<run>& linked) const {
  using std::chrono::microseconds;
  const auto& ids = *report.trace;
  std::string out;
  out.reserve(2'048);
  {
    span_writer server(out, ids.trace, ids.server);
    if (ids.continued) server.parent(ids.parent);
    server.name(report.method, report.route);
    server.kind(span_kind::server);
    server.times(ids.begin_wall, microseconds(0), report.total);
    if (linked) server.link(linked->trace, linked->span);
    server.status(report.status >= 500 || report.status == 0);
    server.request_attributes(report);
  }
  const auto child = [&](std::string_view name, const http::span_id& id, span_kind kind,
                         const step& taken) {
    if (taken.length.count() == 0 && taken.begin.count() == 0) return;
    out += ',';
    span_writer span(out, ids.trace, id);
    span.parent(ids.server);
    span.name(name, {});
    span.kind(kind);
    span.times(ids.begin_wall, taken.begin, taken.begin + taken.length);
    if (kind == span_kind::client) {
      span.status(report.upstream_status >= 500 || report.upstream_status == 0);
      span.upstream_attributes(report);
    }
  };
  http::span_id claim{};
  http::span_id settle{};
  fill(claim);
  fill(settle);
  child("claim", claim, span_kind::internal, {report.claim_begin, report.claim});
  child("upstream", ids.upstream, span_kind::client, {report.upstream_begin, report.upstream_time});
  child("settle", settle, span_kind::internal, {report.settle_begin, report.settle});
  return out;
}

}  // namespace onceguard::trace
