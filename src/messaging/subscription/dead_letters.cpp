#include "messaging/subscription/dead_letters.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "base/ascii.hpp"
#include "base/clock.hpp"
#include "base/time_text.hpp"
#include "messaging/subscription/worker_pool.hpp"

namespace onceguard::messaging {
namespace {

constexpr std::size_t reason_size_max = 1'024;
/// One is on its way at a time, and comes again within the pause of a subscription.
constexpr std::size_t remembered_most = 64;

/// A reason as every broker takes it in a header: a handler may throw anything, and a dead letter
/// that is refused would come again without end.
std::string header_text(std::string_view reason) {
  std::string out(reason.substr(0, reason_size_max));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  const auto text = base::trim(out);
  return text.empty() ? "no reason was given" : std::string(text);
}

constexpr std::array letter_headers{reason_header, outcome_header, subscriber_header, key_header,
                                    since_header};

bool is_letter_header(std::string_view name) {
  return std::any_of(letter_headers.begin(), letter_headers.end(),
                     [&](const char* added) { return base::iequals(name, added); });
}

/// As every broker takes it in a header, unchanged.
bool is_printable(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

message without_letter_headers(const message& received) {
  auto out = received;
  std::erase_if(out.headers, [](const auto& header) { return is_letter_header(header.first); });
  return out;
}

message dead_letter_of(const message& received, const inbox_outcome& outcome,
                       std::string_view subscriber, std::string_view id) {
  auto out = without_letter_headers(received);
  out.headers.emplace_back(reason_header, header_text(outcome.reason));
  out.headers.emplace_back(outcome_header, name_of(outcome.kind));
  out.headers.emplace_back(subscriber_header, header_text(subscriber));
  if (is_printable(id)) out.headers.emplace_back(key_header, id);
  out.headers.emplace_back(since_header, base::time_text(base::system_clock().wall_ms()));
  return out;
}

/// A destination may take so many headers only (SQS: ten): those of the sender count for more, as
/// with them the record is found.
message with_reason_alone(const message& dead, const inbox_outcome& outcome) {
  auto out = without_letter_headers(dead);
  out.headers.emplace_back(reason_header, header_text(outcome.reason));
  return out;
}

/// The headers that a second try to publish has in common with the first.
auto without_time(const message& dead) {
  auto out = dead.headers;
  std::erase_if(out, [](const auto& header) { return header.first == since_header; });
  return out;
}

/// Without what the destination may not be able to carry: another broker's headers and properties.
message bare(const message& dead, const inbox_outcome& outcome, const std::string& refusal) {
  message out;
  out.payload = dead.payload;
  std::copy_if(dead.headers.begin(), dead.headers.end(), std::back_inserter(out.headers),
               [](const auto& header) { return is_letter_header(header.first); });
  std::erase_if(out.headers,
                [](const auto& header) { return base::iequals(header.first, reason_header); });
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

result<void> dead_letters::publish(const message& received, std::string_view id,
                                   const inbox_outcome& outcome) {
  if (base::boot_now() < again_at_) return not_published(away_);
  auto whole = dead_letter_of(received, outcome, subscriber_, id);
  auto done = try_to_publish(whole);
  if (!done && publisher_ != nullptr && refuses_message(done.error())) {
    done = publish_less(std::move(whole), outcome, done.error());
  }
  if (done) {
    pause_ = retry_;
    return {};
  }
  // One that takes nothing for now goes on to say so, where a new connection would have to send a
  // message to learn it.
  const bool full = done.error().code == errc::store_full;
  if (!full) publisher_.reset();
  if (full || done.error().code == errc::broker_unreachable) {
    away_ = done.error().detail;
    again_at_ = base::boot_now() + pause_;
    pause_ = std::min(2 * pause_, retry_max);
  }
  return not_published(done.error().detail);
}

result<void> dead_letters::publish_less(message dead, const inbox_outcome& outcome, error refusal) {
  // The destination would refuse this message again and again, and it would come back without
  // end. Better a dead letter without its headers. A refusal may have ended the connection.
  for (const auto& less : {with_reason_alone(dead, outcome), bare(dead, outcome, refusal.detail)}) {
    publisher_.reset();
    auto done = try_to_publish(less);
    if (done || publisher_ == nullptr || !refuses_message(done.error())) return done;
  }
  return refusal;
}

/// A message that lies at a broker which takes nothing for now would be stored twice.
result<void> dead_letters::wait_for_former() {
  const auto done = publisher_->await_answers();
  const auto progress = publisher_->progress();
  if (progress == std::vector{publication::on_its_way}) return done;
  const bool stored = progress == std::vector{publication::stored};
  if (stored && property_of(*on_its_way_, "message_id") != nullptr) {
    if (stored_.size() == remembered_most) stored_.erase(stored_.begin());
    stored_.push_back(std::move(*on_its_way_));
  }
  on_its_way_.reset();
  return {};
}

bool dead_letters::was_stored(const message& dead) {
  const auto wanted = without_time(dead);
  const auto same = [&](const message& one) {
    return one.payload == dead.payload && one.properties == dead.properties &&
           without_time(one) == wanted;
  };
  const auto found = std::find_if(stored_.begin(), stored_.end(), same);
  if (found == stored_.end()) return false;
  stored_.erase(found);
  return true;
}

result<void> dead_letters::try_to_publish(const message& dead) {
  if (publisher_ == nullptr) on_its_way_.reset();
  if (on_its_way_) {
    if (auto answered = wait_for_former(); !answered) return answered;
  }
  if (was_stored(dead)) return {};
  if (publisher_ == nullptr) {
    auto opened = open_publisher(*destination_);
    if (!opened) return opened.error();
    publisher_ = std::move(*opened);
  }
  auto sent = publisher_->publish(std::span(&dead, 1));
  if (!sent && publisher_->progress() == std::vector{publication::on_its_way}) on_its_way_ = dead;
  return sent;
}

}  // namespace onceguard::messaging
