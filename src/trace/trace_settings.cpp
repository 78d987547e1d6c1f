#include "trace/trace_settings.hpp"

#include <algorithm>
#include <cstdint>

#include "base/address.hpp"
#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/number_in.hpp"
#include "base/url.hpp"
#include "http1/message.hpp"

namespace onceguard::trace {
namespace {

/// The text with its percent escapes decoded; a percent sign that begins none stays.
std::string decoded_header_value(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octet = base::escape_in(text.substr(i));
    out += octet ? static_cast<char>(*octet) : text[i];
    if (octet) i += 2;
  }
  return out;
}

class setup_reader {
 public:
  explicit setup_reader(const std::function<std::string(std::string_view)>& variable)
      : variable_(variable) {}

  trace_setup read() {
    trace_settings settings;
    const bool off = base::iequals(variable_("OTEL_SDK_DISABLED"), "true") ||
                     variable_("OTEL_TRACES_EXPORTER") == "none";
    if (off || !read_endpoint(settings) || !protocol_known()) return std::move(out_);
    const auto headers = either("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS");
    settings.headers = pairs(headers.name, headers.value);
    check_headers(headers.name, settings.headers);
    read_resource(settings);
    read_sampler(settings.sampler);
    const auto timeout = either("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT");
    settings.timeout = milliseconds(number(timeout, settings.timeout.count()));
    settings.delay = milliseconds(number(one("OTEL_BSP_SCHEDULE_DELAY"), settings.delay.count()));
    settings.queue_max = size("OTEL_BSP_MAX_QUEUE_SIZE", settings.queue_max);
    settings.batch_max =
        std::min(settings.queue_max, size("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", settings.batch_max));
    out_.settings = std::move(settings);
    return std::move(out_);
  }

 private:
  struct variable_value {
    std::string_view name;
    std::string value;
  };

  [[nodiscard]] variable_value one(std::string_view name) const { return {name, variable_(name)}; }
  [[nodiscard]] variable_value either(std::string_view special, std::string_view general) const {
    auto found = one(special);
    return found.value.empty() ? one(general) : found;
  }
  void fault(std::string_view name, std::string text) {
    out_.faults.push_back(std::string(name) + ": " + std::move(text));
  }

  bool read_endpoint(trace_settings& settings) {
    auto found = one("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    const bool whole = !found.value.empty();
    if (!whole) found = one("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (found.value.empty()) return false;
    const auto url = base::parse_http_url(found.value);
    if (!url) {
      fault(found.name, url.error().detail + ": no traces are sent");
      return false;
    }
    settings.address = url->address;
    settings.path = url->path;
    if (!whole) {
      while (settings.path.ends_with('/')) settings.path.pop_back();
      settings.path += "/v1/traces";
    }
    if (settings.path.empty()) settings.path = "/";
    return true;
  }

  bool protocol_known() {
    const auto protocol =
        either("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL");
    if (protocol.value == "grpc") {
      fault(protocol.name, "expected http/json, got grpc: no traces are sent");
      return false;
    }
    if (!protocol.value.empty() && protocol.value != "http/json") {
      fault(protocol.name, "expected http/json, got " + protocol.value +
                               ": traces are sent as JSON, which collectors take at the same "
                               "address");
    }
    return true;
  }

  /// `a=1,b=2`, with percent escapes in the values.
  attribute_list pairs(std::string_view name, std::string_view text) {
    attribute_list out;
    base::each_list_element(text, [&](std::string_view element) {
      const auto equals = element.find('=');
      const auto key = base::trim(element.substr(0, equals));
      if (equals == std::string_view::npos || key.empty()) {
        fault(name, "expected NAME=VALUE, and commas between");  // the value may be a secret
        return;
      }
      out.emplace_back(key, decoded_header_value(base::trim(element.substr(equals + 1))));
    });
    return out;
  }

  void check_headers(std::string_view name, attribute_list& headers) {
    const auto wrong = [](const auto& header) {
      return !http1::is_token(header.first) || !http1::is_field_value(header.second);
    };
    if (std::erase_if(headers, wrong) != 0) {
      fault(name, "a name or value that no HTTP header can have was left out");
    }
  }

  void read_resource(trace_settings& settings) {
    const auto set = [&](const std::string& key, const std::string& value) {
      for (auto& [name, old] : settings.resource) {
        if (name != key) continue;
        old = value;
        return;
      }
      settings.resource.emplace_back(key, value);
    };
    const auto attributes = one("OTEL_RESOURCE_ATTRIBUTES");
    for (const auto& [key, value] : pairs(attributes.name, attributes.value)) set(key, value);
    if (const auto name = variable_("OTEL_SERVICE_NAME"); !name.empty()) set("service.name", name);
  }

  void read_sampler(sampler_settings& sampler) {
    const auto given = one("OTEL_TRACES_SAMPLER");
    std::string_view name = given.value;
    if (name.empty()) return;
    constexpr std::string_view parent = "parentbased_";
    sampler.parent_based = name.starts_with(parent);
    if (sampler.parent_based) name.remove_prefix(parent.size());
    if (name == "always_on") return;
    if (name == "always_off") {
      sampler.ratio = 0.0;
    } else if (name == "traceidratio") {
      read_ratio(sampler);
    } else {
      sampler = sampler_settings();
      fault(given.name, given.value + " is no known sampler: parentbased_always_on is used");
    }
  }

  void read_ratio(sampler_settings& sampler) {
    const auto given = one("OTEL_TRACES_SAMPLER_ARG");
    if (given.value.empty()) return;
    if (const auto ratio = base::number_in<double>(given.value, 0, 1)) {
      sampler.ratio = *ratio;
    } else {
      fault(given.name, "expected a number from 0 to 1, got " + given.value + ": 1 is used");
    }
  }

  std::int64_t number(const variable_value& given, std::int64_t fallback) {
    if (given.value.empty()) return fallback;
    if (const auto value = base::number_in<std::int64_t>(given.value, 1, 3'600'000)) return *value;
    fault(given.name, "expected a whole number from 1 to 3600000, got " + given.value + ": " +
                          std::to_string(fallback) + " is used");
    return fallback;
  }
  std::size_t size(std::string_view name, std::size_t fallback) {
    return static_cast<std::size_t>(number(one(name), static_cast<std::int64_t>(fallback)));
  }

  const std::function<std::string(std::string_view)>& variable_;
  trace_setup out_;
};

}  // namespace

trace_setup read_setup(const std::function<std::string(std::string_view)>& variable) {
  return setup_reader(variable).read();
}

}  // namespace onceguard::trace
