#include "messaging/subscription/dead_letters.hpp"

#include <algorithm>
#include <span>

#include "base/field.hpp"
#include "messaging/subscription/worker_pool.hpp"

namespace onceguard::messaging {
namespace {

constexpr std::size_t reason_size_max = 1'024;

/// A reason as every broker takes it in a header: a handler may throw anything, and a dead letter
/// that is refused would come again without end.
std::string header_text(std::string_view reason) {
  std::string out(reason.substr(0, reason_size_max));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  const auto text = base::trim(out);
  return text.empty() ? "no reason was given" : std::string(text);
}

message dead_letter_of(const message& received, const inbox_outcome& outcome) {
  auto out = received;
  std::erase_if(out.headers,
                [](const auto& header) { return base::iequals(header.first, reason_header); });
  out.headers.emplace_back(reason_header, header_text(outcome.reason));
  return out;
}

/// Without what the destination may not be able to carry: another broker's headers and properties.
message bare(const message& dead, const inbox_outcome& outcome, const std::string& refusal) {
  message out;
  out.payload = dead.payload;
  if (const auto* const id = property_of(dead, "message_id")) {
    out.properties.emplace_back("message_id", *id);
  }
  out.headers.emplace_back(reason_header, header_text(outcome.reason +
                                                      " (without its headers and key, as they were "
                                                      "refused: " +
                                                      refusal + ")"));
  return out;
}

/// It is not the consumer's connection that broke.
error not_published(const std::string& why) {
  return {errc::conflict, "the dead letter was not published: " + why};
}

}  // namespace

result<void> dead_letters::publish(const message& received, const inbox_outcome& outcome) {
  if (base::boot_now() < again_at_) return not_published(away_);
  const auto whole = dead_letter_of(received, outcome);
  auto done = try_to_publish(whole);
  if (!done && publisher_ != nullptr && refuses_message(done.error())) {
    // The destination would refuse this message again and again, and it would come back without
    // end. Better a dead letter without its headers.
    publisher_.reset();  // a refusal may have ended the connection
    if (try_to_publish(bare(whole, outcome, done.error().detail))) done = {};
  }
  if (done) {
    pause_ = retry_;
    return {};
  }
  publisher_.reset();
  if (done.error().code == errc::broker_unreachable) {
    away_ = done.error().detail;
    again_at_ = base::boot_now() + pause_;
    pause_ = std::min(2 * pause_, retry_max);
  }
  return not_published(done.error().detail);
}

result<void> dead_letters::try_to_publish(const message& dead) {
  if (publisher_ == nullptr) {
    auto opened = open_publisher(*destination_);
    if (!opened) return opened.error();
    publisher_ = std::move(*opened);
  }
  return publisher_->publish(std::span(&dead, 1));
}

}  // namespace onceguard::messaging
