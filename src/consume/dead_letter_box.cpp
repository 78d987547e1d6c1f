#include "consume/dead_letter_box.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <onceguard/subscription.hpp>

#include "base/ascii.hpp"
#include "base/time_text.hpp"
#include "base/url.hpp"
#include "consume/message_id.hpp"
#include "messaging/broker_kind.hpp"

namespace onceguard::consume {
namespace {

/// The consumers' group of those brokers that have groups: what it has acknowledged is gone for it.
constexpr std::string_view operators_group = "onceguard-messages";
/// RabbitMQ drops a message of a quorum queue that is given back too often (release 4: 20 times,
/// unless the queue says otherwise).
constexpr std::uint32_t deliveries_max = 3;

constexpr milliseconds dealing_max{15'000};
/// Below half of the heartbeat that a URL may ask for.
constexpr milliseconds beat_interval{400};
/// How long what the broker says is there may take to come. (Another one may have it.)
constexpr milliseconds slow_max{3'000};

/// A URL in parts that can be changed.
struct changed_url {
  std::string begin;  ///< up to the query
  std::vector<std::pair<std::string, std::string>> query;

  explicit changed_url(std::string_view url) {
    const auto mark = url.find('?');
    begin = url.substr(0, mark);
    while (mark != url.npos && !url.empty()) {
      url.remove_prefix(std::min(url.find_first_of("?&") + 1, url.size()));
      const auto pair = url.substr(0, url.find('&'));
      const auto equals = std::min(pair.find('='), pair.size());
      if (!pair.empty()) {
        query.emplace_back(pair.substr(0, equals), pair.substr(std::min(equals + 1, pair.size())));
      }
      if (url.find('&') == url.npos) break;
    }
  }
  std::string take(std::string_view name) {
    std::string out;
    std::erase_if(query, [&](const auto& one) {
      if (one.first == name) out = one.second;
      return one.first == name;
    });
    return out;
  }
  [[nodiscard]] std::string text() const {
    auto out = begin;
    for (const auto& [name, value] : query) {
      out.append(out.size() == begin.size() ? "?" : "&").append(name).append("=").append(value);
    }
    return out;
  }
};

/// Not one of the connection on which the letters are held.
error not_copied(const std::string& why) {
  return {errc::conflict,
          "a letter that was taken several times can't be written anew (" + why +
              "), so that the queue's own delivery limit may drop it: look no more before that is "
              "mended"};
}

error no_box(const std::string& why) { return {errc::invalid_argument, why}; }

std::string_view family_of(std::string_view url) {
  const auto scheme = base::scheme_of(url);
  for (const std::string_view family : {"amqp", "nats", "redis", "kafka", "postgres", "mqtt"}) {
    if (scheme.starts_with(family)) return family;
  }
  return scheme;
}

/// Of a destination that dead letters are published to.
std::string box_of_destination(const std::string& destination) {
  changed_url url(destination);
  const auto family = family_of(destination);
  if (family == "redis") {
    url.take("max_length");
    url.query.emplace_back("group", operators_group);
    url.query.emplace_back("create", "yes");
  }
  if (family == "kafka") url.query.emplace_back("group", operators_group);
  return url.text();
}

/// Of the queue's own dead letters; empty: its URL does not name them.
std::string box_of_queue(const std::string& queue) {
  changed_url url(queue);
  const auto family = family_of(queue);
  if (family == "postgres") {
    url.query.emplace_back("dead", "yes");
    return url.text();
  }
  if (family != "kafka") return {};
  const auto topic = url.take("dead_letters");
  if (topic.empty()) return {};
  for (const auto* name : {"group", "start", "hold"}) url.take(name);
  url.begin = url.begin.substr(0, url.begin.rfind('/') + 1) + topic;
  url.query.emplace_back("group", operators_group);
  return url.text();
}

std::string header_or_empty(const messaging::message& sent, const char* name) {
  const auto* const value = messaging::header_of(sent, name);
  return value == nullptr ? std::string() : *value;
}

dead_letter letter_of(const messaging::delivery& taken, const id_rule& rule) {
  dead_letter out;
  out.tag = taken.tag;
  out.content = taken.received;
  out.key = header_or_empty(out.content, messaging::key_header);
  out.reason = header_or_empty(out.content, messaging::reason_header);
  out.outcome = header_or_empty(out.content, messaging::outcome_header);
  out.since = base::parse_time(header_or_empty(out.content, messaging::since_header)).value_or(0);
  constexpr std::array added{messaging::reason_header, messaging::outcome_header,
                             messaging::subscriber_header, messaging::key_header,
                             messaging::since_header};
  std::erase_if(out.content.headers, [&](const auto& header) {
    return std::any_of(added.begin(), added.end(),
                       [&](const char* name) { return base::iequals(header.first, name); });
  });
  if (!out.key.empty()) return out;
  auto id = id_of(rule, out.content);
  if (id) {
    out.key = *std::move(id);
  } else {
    out.keyless = id.error().detail;
  }
  return out;
}

}  // namespace

result<std::string> dead_letter_box_url(const consume_params& params) {
  const auto named = "[[consume]] " + params.subscriber + ": ";
  if (!params.dead_letter_queue.empty()) return params.dead_letter_queue;
  if (params.drop_dead_letters) {
    return no_box(named + "there are no dead letters: dead_letter = \"drop\" drops their payload");
  }
  const bool brokers = params.dead_letter.empty();
  const auto out = brokers ? box_of_queue(params.queue) : box_of_destination(params.dead_letter);
  // An MQTT session of its own gets what is published while it exists: it has to be there first.
  const bool usable = !out.empty() && family_of(out) != "mqtt" &&
                      messaging::url_fault(out, messaging::broker_role::consumer).empty();
  if (usable) return out;
  return no_box(named +
                "dead_letter_queue is missing: the queue from which its dead letters can be taken, "
                "in the form of `from`; " +
                (brokers ? "`from`" : "dead_letter") + " does not say where they lie");
}

bool reading_is_counted(const consume_params& params) {
  // By the URL: to open a consumer, which knows it, lets the broker begin to deliver.
  const auto url = dead_letter_box_url(params);
  const auto family = url ? family_of(*url) : std::string_view();
  return family == "amqp" || family == "nats" || family == "sqs";
}

result<dead_letter_box> dead_letter_box::open(const consume_params& params, std::size_t most) {
  auto url = dead_letter_box_url(params);
  if (!url) return url.error();
  dead_letter_box out(params, *std::move(url), most);
  if (auto connected = out.connect(); !connected) return connected.error();
  return out;
}

result<void> dead_letter_box::connect() {
  messaging::broker_params wanted;
  wanted.url = url_;
  wanted.in_flight = most_;
  wanted.name = operators_group;
  auto opened = messaging::open_consumer(wanted);
  if (!opened) return opened.error();
  consumer_ = std::move(*opened);
  return {};
}

result<std::vector<dead_letter>> dead_letter_box::read(milliseconds wait) {
  std::vector<dead_letter> out;
  const auto span = consumer_->traits().hold;
  const auto slice = span.count() == 0 ? wait : std::clamp(span / 4, milliseconds(1), wait);
  hold_at_ = base::boot_now() + span / 3;
  // The broker deals out the parts of the queue first, which takes seconds.
  const bool dealt = consumer_->traits().partitioned;
  auto until = base::boot_now() + (dealt ? std::max(wait, dealing_max) : wait);
  const auto waiting = consumer_->backlog();
  if (!waiting) return waiting.error();
  const auto expected = std::min<std::uint64_t>(waiting->value_or(0), most_);
  const auto slow_until = base::boot_now() + slow_max;
  const auto goes_on = [&] {
    const auto now = base::boot_now();
    return now < until || (taken_.size() < expected && now < slow_until);
  };
  while (taken_.size() < most_ && goes_on()) {
    auto got = consumer_->receive(most_ - taken_.size(), slice);
    if (!got) return got.error();
    hold();
    if (!got->empty()) until = base::boot_now() + wait;
    for (auto& one : *got) {
      const auto subscriber = header_or_empty(one.received, messaging::subscriber_header);
      if (subscriber.empty() || subscriber == params_->subscriber) {
        out.push_back(letter_of(one, params_->id));
      }
      order_.push_back(one.tag);
      taken_.emplace(one.tag, std::move(one));
    }
  }
  return out;
}

void dead_letter_box::hold() {
  const auto span = consumer_->traits().hold;
  if (base::boot_now() < hold_at_) return;
  if (span.count() == 0) {
    // No hold ends here, but a connection on which nothing is sent does.
    hold_at_ = base::boot_now() + beat_interval;
    if (is_amqp() && !taken_.empty()) static_cast<void>(consumer_->extend(taken_.begin()->first));
    return;
  }
  hold_at_ = base::boot_now() + span / 3;
  // One that is lost meanwhile can't be removed, and its record says what became of it.
  for (const auto& [tag, taken] : taken_) static_cast<void>(consumer_->extend(tag));
}

result<void> dead_letter_box::remove(std::uint64_t tag) {
  auto done = consumer_->acknowledge(tag);
  if (done) taken_.erase(tag);
  return done;
}

result<void> dead_letter_box::put_back() {
  result<void> out;
  for (const auto tag : order_) {
    const auto found = taken_.find(tag);
    if (found == taken_.end()) continue;
    auto done = put_back(tag, found->second);
    if (!done && done.error().code != errc::not_found) out = std::move(done);
    if (!out && out.error().code == errc::broker_unreachable) return out;
  }
  taken_.clear();
  order_.clear();
  // RabbitMQ would deliver here once more what is given back one by one, and count it twice.
  if (is_amqp()) consumer_.reset();
  return out;
}

result<void> dead_letter_box::put_back(std::uint64_t tag, const messaging::delivery& taken) {
  if (!is_amqp()) return consumer_->give_back(tag, milliseconds(0));
  if (taken.count < deliveries_max) return {};  // the end of the connection gives it back
  // A copy, which is counted anew, at the end of the queue. After a crash in between there are two:
  // what is sent again is decided by its record, and not twice.
  if (auto connected = connect_copies(); !connected) return connected;
  if (auto done = copies_->publish(std::span(&taken.received, 1)); !done) {
    copies_.reset();
    return not_copied(done.error().detail);
  }
  return consumer_->acknowledge(tag);
}

bool dead_letter_box::is_amqp() const { return family_of(url_) == "amqp"; }

result<void> dead_letter_box::connect_copies() {
  if (copies_ != nullptr) return {};
  changed_url url(url_);
  for (const auto* name : {"dead_letters", "heartbeat", "management"}) url.take(name);
  messaging::broker_params wanted;
  wanted.url = url.text();
  auto opened = messaging::open_publisher(wanted);
  if (!opened) return not_copied(opened.error().detail);
  copies_ = std::move(*opened);
  return {};
}

}  // namespace onceguard::consume
