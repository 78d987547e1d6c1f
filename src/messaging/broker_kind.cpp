#include "messaging/broker_kind.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/library_fault.hpp"
#include "base/url.hpp"

namespace onceguard::messaging {
namespace {

std::vector<const broker_kind*>& registered() {
  static std::vector<const broker_kind*> all;
  return all;
}

std::string examples(broker_role role) {
  std::string out;
  for (const auto* kind : registered()) {
    if (!out.empty()) out += ", ";
    out += role == broker_role::consumer ? kind->consumer_example : kind->publisher_example;
  }
  return out.empty() ? "this program was linked with no broker" : "try " + out;
}

}  // namespace

broker_registration::broker_registration(const broker_kind& kind) { registered().push_back(&kind); }

const broker_kind* broker_of(std::string_view url) noexcept {
  const auto scheme = base::scheme_of(url);
  for (const auto* kind : registered()) {
    if (std::find(kind->schemes.begin(), kind->schemes.end(), scheme) != kind->schemes.end()) {
      return kind;
    }
  }
  return nullptr;
}

std::string url_fault(std::string_view url, broker_role role) {
  const auto* kind = broker_of(url);
  if (kind != nullptr) {
    // First: the URL may be read by that library.
    auto missing = base::library_fault(kind->library);
    return missing.empty() ? kind->url_fault(url, role) : missing;
  }
  const auto scheme = base::scheme_of(url);
  if (scheme.empty()) return "a broker's URL has a scheme; " + examples(role);
  return "no broker has the scheme " + std::string(scheme) + "; " + examples(role);
}

std::string setup_fault(std::string_view url, broker_role role) {
  auto fault = url_fault(url, role);
  if (!fault.empty()) return fault;
  const auto* kind = broker_of(url);
  return kind->files_fault == nullptr ? std::string() : kind->files_fault(url, role);
}

namespace {

/// The clients of the brokers count a call's milliseconds in an int, some of them several times.
constexpr milliseconds longest_timeout{std::chrono::hours(24)};

std::string fault_of(const broker_params& params, broker_role role) {
  if (params.timeout.count() <= 0) return "broker_params: timeout is not positive";
  if (role == broker_role::consumer && params.in_flight == 0)
    return "broker_params: in_flight is 0";
  return url_fault(params.url, role);
}

broker_params bounded(broker_params params) {
  params.timeout = std::min(params.timeout, longest_timeout);
  return params;
}

}  // namespace

result<std::optional<queue_report>> examine_queue(const broker_params& params) {
  if (auto fault = fault_of(params, broker_role::consumer); !fault.empty()) {
    return error(errc::invalid_argument, std::move(fault));
  }
  const auto* const kind = broker_of(params.url);
  if (kind->examine == nullptr) return std::optional<queue_report>();
  auto found = kind->examine(bounded(params));
  if (!found) return found.error();
  return std::optional(std::move(*found));
}

inline namespace v1 {

const std::string* header_of(const message& sent, std::string_view name) noexcept {
  for (const auto& [header, value] : sent.headers) {
    if (base::iequals(header, name)) return &value;
  }
  return nullptr;
}

const std::string* property_of(const message& sent, std::string_view name) noexcept {
  for (const auto& [property, value] : sent.properties) {
    if (property == name) return &value;
  }
  return nullptr;
}

result<std::unique_ptr<consumer>> open_consumer(const broker_params& params) {
  if (auto fault = fault_of(params, broker_role::consumer); !fault.empty()) {
    return error(errc::invalid_argument, std::move(fault));
  }
  return broker_of(params.url)->open_consumer(bounded(params));
}

result<std::unique_ptr<publisher>> open_publisher(const broker_params& params) {
  if (auto fault = fault_of(params, broker_role::publisher); !fault.empty()) {
    return error(errc::invalid_argument, std::move(fault));
  }
  return broker_of(params.url)->open_publisher(bounded(params));
}

}  // namespace v1
}  // namespace onceguard::messaging
