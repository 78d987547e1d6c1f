#include "consume/endpoint_request.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/octets.hpp"
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

std::string endpoint_request(const gateway::http_url& url, const handover& given,
                             const std::string& secret, const messaging::attribute& sender) {
  const auto& received = *given.received;
  const auto* const type = messaging::property_of(received, "content_type");
  const bool good_type = type != nullptr && base::is_field_value(*type);
  const auto id = field_value(given);
  std::string out;
  http1::append_request_line(out, "POST", url.path.empty() ? "/" : url.path);
  http1::append_field(out, "Host", gateway::authority_of(url.address));
  http1::append_field(out, "Connection", "close");
  http1::append_field(out, "Content-Type", good_type ? *type : "application/octet-stream");
  http1::append_field(out, "Idempotency-Key", id);
  http1::append_field(out, "Onceguard-Attempt", std::to_string(given.attempt));
  http1::append_field(out, sender.first, sender.second);
  if (!secret.empty()) {
    const auto now = base::wall_microseconds() / 1'000'000;
    http1::append_field(out, "webhook-id", id);
    http1::append_field(out, "webhook-timestamp", std::to_string(now));
    http1::append_field(out, "webhook-signature", signature_of(secret, id, now, received.payload));
  }
  http1::append_content_length(out, received.payload.size());
  http1::append_end_of_head(out);
  return out + received.payload;
}

}  // namespace onceguard::consume
