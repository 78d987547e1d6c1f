#include "admin/prometheus_history.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/url.hpp"
#include "http/request_report.hpp"
#include "text/json_text.hpp"

namespace onceguard::admin {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

// A rate needs two scrapes: where samples are closer than this, each looks further back.
constexpr std::chrono::seconds rate_window_min{300};
constexpr std::string_view steps[]{"request", "claim", "settle"};
constexpr std::string_view shares[]{"0.5", "0.99"};  // in the order of `times_us`
// The label by which the parts of the answer differ: "0.5 claim", "outcome".
constexpr std::string_view part_label = "onceguard_part";

std::size_t samples_of(const history_span& span) {
  return static_cast<std::size_t>(span.length / span.step);
}

std::string query_of(std::string_view matchers, const history_span& span) {
  const auto window = std::max(span.step, rate_window_min).count();
  const auto rate = [&](std::string_view metric) {
    std::string out = "rate(onceguard_";
    out.append(metric).append("{").append(matchers).append("}[");
    return out + std::to_string(window) + "s])";
  };
  const auto part = [](const std::string& vector, std::string_view name) {
    std::string out = "label_replace(" + vector + ",\"";
    return out.append(part_label).append("\",\"").append(name).append("\",\"\",\"\")");
  };
  std::string out = part("sum by(outcome)(" + rate("requests_total") + ")", "outcome");
  for (const auto step : steps) {
    const auto buckets = "sum by(le)(" + rate(std::string(step) + "_seconds_bucket") + ")";
    for (const auto share : shares) {
      const auto quantile = "histogram_quantile(" + std::string(share) + "," + buckets + ")";
      out += " or " + part(quantile, std::string(share) + " " + std::string(step));
    }
  }
  return out;
}

std::string text_member(const json& object, const std::string& name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// "1.5"; none: it is no number, or "NaN" or "+Inf", of which nothing is drawn.
std::optional<double> number_of(const json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  char* end = nullptr;
  const double out = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(out) || out < 0) return std::nullopt;
  return out;
}

error no_history(std::string detail) { return {errc::conflict, std::move(detail)}; }

class history_reader {
 public:
  history_reader(const history_span& span, std::int64_t end_wall_s)
      : step_(span.step.count()),
        begin_(end_wall_s - static_cast<std::int64_t>(samples_of(span) - 1) * step_),
        samples_(samples_of(span)) {
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const auto time = (begin_ + static_cast<std::int64_t>(i) * step_) * 1'000;
      samples_[i] = {{"number", i + 1},
                     {"at", time_text(time)},
                     {"outcomes", ordered_json::object()},
                     {"times_us", ordered_json::object()}};
    }
  }

  void add(const json& series) {
    const auto labels = series.is_object() ? series.find("metric") : series.end();
    const auto values = series.is_object() ? series.find("values") : series.end();
    if (labels == series.end() || values == series.end() || !values->is_array()) return;
    const auto part = text_member(*labels, std::string(part_label));
    if (part == "outcome") {
      const auto outcome = text_member(*labels, "outcome");
      if (http::is_outcome(outcome)) {
        each(*values, [&](ordered_json& sample, double rate) {
          if (rate > 0) sample["outcomes"][outcome] = rate * static_cast<double>(step_);
        });
      }
      return;
    }
    for (const auto step : steps) {
      for (std::size_t i = 0; i < std::size(shares); ++i) {
        if (part != std::string(shares[i]) + " " + std::string(step)) continue;
        each(*values, [&, name = std::string(step)](ordered_json& sample, double taken) {
          auto& times = sample["times_us"][name];
          if (times.is_null()) times = {0, 0};
          times[i] = std::llround(std::min(taken, 1e6) * 1e6);
        });
      }
    }
  }

  [[nodiscard]] ordered_json take() { return ordered_json(std::move(samples_)); }

 private:
  template <class Use>
  void each(const json& values, const Use& use) {
    for (const auto& one : values) {
      if (!one.is_array() || one.size() != 2 || !one[0].is_number()) continue;
      const auto index =
          (one[0].get<double>() - static_cast<double>(begin_)) / static_cast<double>(step_);
      const auto number = number_of(one[1]);
      if (!number || !(index > -0.5) || index >= static_cast<double>(samples_.size()) - 0.5)
        continue;
      use(samples_[static_cast<std::size_t>(std::llround(index))], *number);
    }
  }

  const std::int64_t step_;
  const std::int64_t begin_;
  std::vector<ordered_json> samples_;
};

}  // namespace

std::string history_target(std::string_view base_path, std::string_view matchers,
                           const history_span& span, std::int64_t end_wall_s,
                           std::chrono::seconds timeout) {
  while (base_path.ends_with('/')) base_path.remove_suffix(1);
  const auto begin =
      end_wall_s - static_cast<std::int64_t>(samples_of(span) - 1) * span.step.count();
  std::string out(base_path);
  out += "/api/v1/query_range?query=" + base::percent_encoded(query_of(matchers, span));
  out += "&start=" + std::to_string(begin) + "&end=" + std::to_string(end_wall_s);
  out += "&step=" + std::to_string(span.step.count());
  return out + "&timeout=" + std::to_string(timeout.count()) + "s";
}

result<ordered_json> read_history(std::string_view body, const history_span& span,
                                  std::int64_t end_wall_s) {
  const auto read = json::parse(body, nullptr, false);
  const auto status = text_member(read, "status");
  if (status == "error") {
    return no_history("it refused: " + text_member(read, "error").substr(0, 300));
  }
  const auto data = read.is_object() ? read.find("data") : read.end();
  if (status != "success" || data == read.end() || text_member(*data, "resultType") != "matrix") {
    return no_history("what it answered is none of Prometheus's");
  }
  const auto series = data->find("result");
  if (series == data->end() || !series->is_array()) {
    return no_history("what it answered is none of Prometheus's");
  }
  history_reader out(span, end_wall_s);
  for (const auto& one : *series) out.add(one);
  return out.take();
}

}  // namespace onceguard::admin
