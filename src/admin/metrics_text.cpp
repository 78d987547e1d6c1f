#include "admin/metrics_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace onceguard::admin {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;
using label_list = std::vector<ClientMetric::Label>;

void append_value(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-Inf" : "+Inf";
  } else {
    // Whole numbers as such, however large: as people look for them.
    constexpr double whole_max = 1e15;
    const bool whole = value == std::trunc(value) && std::abs(value) < whole_max;
    std::array<char, 32> digits{};
    char* const first = digits.data();
    char* const end = first + digits.size();
    const auto done = whole ? std::to_chars(first, end, static_cast<std::int64_t>(value))
                            : std::to_chars(first, end, value);
    out.append(first, done.ptr);
  }
}

void append_label(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += "=\"";
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') out += '\\';
    out += c;
  }
  out += '"';
}

void append_sample(std::string& out, const std::string& name, const label_list& labels,
                   double value) {
  out += name;
  char before = '{';
  for (const auto& one : labels) {
    out += before;
    append_label(out, one.name, one.value);
    before = ',';
  }
  if (!labels.empty()) out += '}';
  out += ' ';
  append_value(out, value);
  out += '\n';
}

void append_histogram(std::string& out, const std::string& name, const ClientMetric& metric) {
  const auto& measured = metric.histogram;
  const auto count = static_cast<double>(measured.sample_count);
  append_sample(out, name + "_count", metric.label, count);
  append_sample(out, name + "_sum", metric.label, measured.sample_sum);
  auto labels = metric.label;
  labels.push_back({"le", {}});
  const auto append_bucket = [&](double bound, double below) {
    labels.back().value.clear();
    append_value(labels.back().value, bound);
    append_sample(out, name + "_bucket", labels, below);
  };
  constexpr double no_bound = std::numeric_limits<double>::infinity();
  for (const auto& bucket : measured.bucket) {
    append_bucket(bucket.upper_bound, static_cast<double>(bucket.cumulative_count));
  }
  if (measured.bucket.empty() || measured.bucket.back().upper_bound != no_bound) {
    append_bucket(no_bound, count);
  }
}

std::string_view type_text(MetricType type) {
  if (type == MetricType::Counter) return "counter";
  return type == MetricType::Gauge ? "gauge" : "histogram";
}

}  // namespace

std::string metrics_text(const std::vector<prometheus::MetricFamily>& families) {
  std::string out;
  for (const auto& family : families) {
    if (!family.help.empty()) out += "# HELP " + family.name + " " + family.help + "\n";
    out += "# TYPE " + family.name + " " + std::string(type_text(family.type)) + "\n";
    for (const auto& metric : family.metric) {
      if (family.type == MetricType::Histogram) {
        append_histogram(out, family.name, metric);
      } else {
        const bool counts = family.type == MetricType::Counter;
        append_sample(out, family.name, metric.label,
                      counts ? metric.counter.value : metric.gauge.value);
      }
    }
  }
  return out;
}

}  // namespace onceguard::admin
