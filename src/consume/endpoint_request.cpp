#include "consume/endpoint_request.hpp"

#include <algorithm>
#include <array>

#include "base/clock.hpp"
#include "base/field.hpp"
#include "base/octets.hpp"
#include "consume/signature.hpp"
#include "http1/message.hpp"

namespace onceguard::consume {
namespace {

/// What stands in a field: an id of any bytes has another form there.
std::string field_value(const handover& given) {
  const bool plain =
      std::all_of(given.id.begin(), given.id.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  return plain ? given.id : given.key;
}

}  // namespace

std::string header_fault(std::string_view name) {
  if (!base::is_token(name)) return "is no name of a header field";
  const auto same = [&](std::string_view other) { return base::same_name(name, other); };
  constexpr std::array<std::string_view, 14> set_here{
      "host",       "connection",        "content-type", "content-length",
      "expect",     "transfer-encoding", "upgrade",      "te",
      "trailer",    "idempotency-key",   "webhook-id",   "webhook-timestamp",
      "keep-alive", "webhook-signature"};
  const bool taken = std::any_of(set_here.begin(), set_here.end(), same) ||
                     base::same_name(name.substr(0, 10), "onceguard-");
  return taken ? "is set by Onceguard itself" : "";
}

std::string endpoint_request(const endpoint_form& form, const handover& given) {
  const auto& received = *given.received;
  const auto* type = messaging::property_of(received, "content_type");
  if (type == nullptr) type = messaging::header_of(received, "content-type");
  const bool good_type = type != nullptr && base::is_field_value(*type);
  const auto id = field_value(given);
  std::string out;
  http1::append_request_line(out, "POST", form.url.path.empty() ? "/" : form.url.path);
  http1::append_field(out, "Host", base::authority_of(form.url.address));
  http1::append_field(out, "Content-Type", good_type ? *type : "application/octet-stream");
  http1::append_field(out, "Idempotency-Key", id);
  http1::append_field(out, "Onceguard-Attempt", std::to_string(given.attempt));
  http1::append_field(out, form.sender.first, form.sender.second);
  for (const auto& name : form.headers) {
    const auto* value = messaging::header_of(received, name);
    if (value != nullptr && base::is_field_value(*value)) http1::append_field(out, name, *value);
  }
  if (!form.secrets.empty()) {
    const auto now = base::wall_microseconds() / 1'000'000;
    http1::append_field(out, "webhook-id", id);
    http1::append_field(out, "webhook-timestamp", std::to_string(now));
    http1::append_field(out, "webhook-signature",
                        signatures_of(form.secrets, id, now, received.payload));
  }
  http1::append_content_length(out, received.payload.size());
  http1::append_end_of_head(out);
  return out + received.payload;
}

}  // namespace onceguard::consume
