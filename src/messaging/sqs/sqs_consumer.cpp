#include "messaging/sqs/sqs_consumer.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "messaging/sqs/backoff.hpp"
#include "messaging/sqs/failure.hpp"
#include "messaging/sqs/wire_message.hpp"

namespace onceguard::messaging::sqs {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr std::size_t most_at_once = 10;
constexpr seconds longest_poll{20};
constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{200};
/// A wait of a second shall be one wait at the server, although a moment of it is over.
constexpr milliseconds poll_tolerance{50};

consumer_traits traits_of(const sqs_url& url, const queue_facts& facts) {
  consumer_traits out;
  out.hold = url.hold.value_or(facts.visibility);
  out.delays = true;
  out.counts = true;
  out.counts_returns = true;
  out.ordered = url.is_fifo();
  out.redelivery = facts.retention;
  out.deliveries_max = facts.receives_max;
  if (out.deliveries_max > 0) out.limit_name = "maxReceiveCount of the queue's redrive policy";
  // Zero would mean: as long as the consumer is connected.
  if (out.hold.count() <= 0) {
    throw failed{error(errc::invalid_argument,
                       url.name() + ": the queue's visibility timeout is 0; give the URL a hold")};
  }
  return out;
}

/// For how long the server may wait.
seconds poll_time(base::boot_clock::time_point until) {
  const auto left = until - base::boot_now() + poll_tolerance;
  return std::clamp(std::chrono::floor<seconds>(left), seconds(0), longest_poll);
}

}  // namespace

sqs_consumer::sqs_consumer(const sqs_url& url, const broker_params& params)
    : holding_consumer(params.in_flight),
      fifo_(url.is_fifo()),
      server_(url, params.timeout),
      facts_(find_queue(server_, url)),
      traits_(traits_of(url, facts_)) {}

result<queue_report> examine_sqs_queue(const broker_params& params) {
  const auto url = read_sqs_url(params.url, broker_role::consumer);
  if (!url) return url.error();
  return caught([&] {
    connection server(*url, params.timeout);
    queue_report out;
    out.traits = traits_of(*url, find_queue(server, *url));
    return out;
  });
}

sqs_consumer::~sqs_consumer() {
  if (!server_.usable()) return;
  forget_late();
  // Where it fails, the holds end by themselves.
  static_cast<void>(caught([&] { give_back_all(); }));
}

void sqs_consumer::give_back_all() {
  const auto until = base::boot_now() + server_.timeout();
  const auto& held = all_held();
  for (auto next = held.begin(); next != held.end();) {
    json entries = json::array();
    for (; next != held.end() && entries.size() < most_at_once; ++next) {
      entries.push_back({{"Id", std::to_string(next->first)},
                         {"ReceiptHandle", next->second.receipt.handle},
                         {"VisibilityTimeout", 0}});
    }
    const json request{{"QueueUrl", facts_.queue_url}, {"Entries", std::move(entries)}};
    static_cast<void>(server_.ask("ChangeMessageVisibilityBatch", request.dump(), until));
  }
}

// --- receiving ----------------------------------------------------------------------------------

std::vector<delivery> sqs_consumer::fetch(std::size_t most, moment until) {
  std::vector<delivery> out;
  const auto room = room_for(most);
  if (room == 0) {
    wait_until_time(until);
    return out;
  }
  auto pause = first_pause;
  while (true) {
    const auto poll = poll_time(until);
    const bool last = base::boot_now() >= until;
    if (take(out, room, poll) > 0) {
      take_rest(out, room);
      return out;
    }
    if (last || base::boot_now() >= until) return out;
    if (poll.count() > 0) continue;
    wait_until_time(std::min<moment>(until, base::boot_now() + pause));
    pause = std::min(2 * pause, longest_pause);
  }
}

std::size_t sqs_consumer::take(std::vector<delivery>& out, std::size_t most, seconds wait) {
  const json request{
      {"QueueUrl", facts_.queue_url},
      {"MaxNumberOfMessages", std::min(most, most_at_once)},
      {"WaitTimeSeconds", wait.count()},
      {"VisibilityTimeout", std::chrono::duration_cast<seconds>(traits_.hold).count()},
      {"AttributeNames", json::array({"ApproximateReceiveCount", "SentTimestamp", "MessageGroupId",
                                      "MessageDeduplicationId"})},
      {"MessageAttributeNames", json::array({"All"})}};
  const auto answer =
      server_.ask("ReceiveMessage", request.dump(), base::boot_now() + wait + server_.timeout());
  // The hold began when the server took the messages, at the end of its wait.
  const auto received = base::boot_now() - server_.quickest();
  auto found = messages_of(server_.name(), answer, fifo_);
  for (auto& each : found) {
    const auto tag = hold({std::move(each.receipt), received}, received + traits_.hold);
    out.push_back({tag, std::move(each.content), each.count});
  }
  return found.size();
}

void sqs_consumer::take_rest(std::vector<delivery>& out, std::size_t most) {
  auto before = out.size();
  while (before % most_at_once == 0 && before < most) {
    // What came before is held, and must be returned.
    if (!caught([&] { take(out, most - before, seconds(0)); }) || out.size() == before) return;
    before = out.size();
  }
}

// --- settling -----------------------------------------------------------------------------------

void sqs_consumer::change_visibility(const sqs_receipt& changed, seconds visibility) {
  const json request{{"QueueUrl", facts_.queue_url},
                     {"ReceiptHandle", changed.handle},
                     {"VisibilityTimeout", visibility.count()}};
  static_cast<void>(server_.ask("ChangeMessageVisibility", request.dump()));
}

sqs_consumer::moment sqs_consumer::prolong(sqs_receipt& receipt, moment /*end*/) {
  // From before the request: the hold must never seem longer than it is.
  const auto begin = base::boot_now();
  change_visibility(receipt, std::chrono::duration_cast<seconds>(traits_.hold));
  return begin + traits_.hold;
}

void sqs_consumer::confirm(std::uint64_t /*tag*/, sqs_receipt& receipt) {
  const json request{{"QueueUrl", facts_.queue_url}, {"ReceiptHandle", receipt.handle}};
  static_cast<void>(server_.ask("DeleteMessage", request.dump()));
}

void sqs_consumer::put_back(std::uint64_t /*tag*/, sqs_receipt& receipt, milliseconds delay) {
  // Amazon counts the 12 hours from the receipt on.
  const auto age = std::chrono::ceil<seconds>(base::boot_now() - receipt.received);
  const auto longest =
      std::max(std::chrono::floor<seconds>(longest_hold) - age - seconds(1), seconds(0));
  change_visibility(receipt, std::min(std::chrono::ceil<seconds>(delay), longest));
}

std::optional<std::uint64_t> sqs_consumer::count_waiting() {
  return count_ready(server_, facts_.queue_url);
}

error sqs_consumer::refusal(errc code, std::string_view words) const {
  return {code, server_.name() + ": " + std::string(words)};
}

}  // namespace onceguard::messaging::sqs
