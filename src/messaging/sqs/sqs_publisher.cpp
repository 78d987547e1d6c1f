#include "messaging/sqs/sqs_publisher.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"
#include "messaging/sqs/backoff.hpp"
#include "messaging/sqs/failure.hpp"

namespace onceguard::messaging::sqs {
namespace {

using nlohmann::json;

constexpr std::size_t most_in_request = 10;
/// A request may be as large as the largest message may be, which is no less than that by default.
constexpr std::size_t least_request_size = std::size_t{256} << 10;

/// Why the server has not taken a message of a batch.
struct entry_refusal {
  std::string id, code, words;
  bool sender_fault = false;
};

std::vector<entry_refusal> refusals_of(const std::string& name, const std::string& answer) {
  const auto parsed = json::parse(answer, nullptr, false);
  if (!parsed.is_object()) {
    throw failed{error(errc::conflict, name + ": the answer of the server is no JSON object",
                       effect::unknown)};
  }
  std::vector<entry_refusal> out;
  for (const auto& each : base::list_in(parsed, "Failed")) {
    if (!each.is_object()) continue;
    out.push_back({base::text_in(each, "Id"), base::text_in(each, "Code"),
                   base::text_in(each, "Message"),
                   base::member<bool>(each, "SenderFault").value_or(false)});
  }
  return out;
}

}  // namespace

sqs_publisher::sqs_publisher(const sqs_url& url, const broker_params& params)
    : fifo_(url.is_fifo()), server_(url, params.timeout), facts_(find_queue(server_, url)) {}

result<void> sqs_publisher::publish(std::span<const message> batch) {
  const auto until = base::boot_now() + server_.timeout();
  progress_.assign(batch.size(), publication::not_stored);
  return caught([&] {
    const auto all = outgoing(batch);
    for (outgoing_list rest = all; !rest.empty();) {
      const auto request = one_request(rest);
      send(request, all.size() - rest.size(), until);
      rest = rest.subspan(request.size());
    }
  });
}

std::vector<outgoing_message> sqs_publisher::outgoing(std::span<const message> batch) const {
  std::vector<outgoing_message> out;
  for (const auto& sent : batch) {
    out.push_back(outgoing_of(server_.name(), sent, out.size(), fifo_));
    if (out.back().size > facts_.largest_message) {
      throw failed{error(errc::conflict,
                         server_.name() + ": a message of " + std::to_string(out.back().size) +
                             " bytes, of at most " + std::to_string(facts_.largest_message))};
    }
  }
  return out;
}

sqs_publisher::outgoing_list sqs_publisher::one_request(outgoing_list rest) const {
  const auto most = std::max(facts_.largest_message, least_request_size);
  std::size_t count = 0;
  std::size_t size = 0;
  while (count < rest.size() && count < most_in_request && size + rest[count].size <= most) {
    size += rest[count++].size;
  }
  return rest.first(count);
}

void sqs_publisher::send(outgoing_list request, std::size_t first_position, time_point until) {
  backoff pause(until);
  std::vector<const outgoing_message*> missing;
  for (const auto& each : request) missing.push_back(&each);
  while (true) {
    std::string text = R"({"QueueUrl":)" + json(facts_.queue_url).dump() + R"(,"Entries":[)";
    for (const auto* each : missing) text += (each == missing.front() ? "" : ",") + each->entry;
    text += "]}";
    const auto position = [&](const outgoing_message* each) {
      return first_position + static_cast<std::size_t>(each - request.data());
    };
    for (const auto* each : missing) progress_[position(each)] = publication::unknown;
    const auto refusals = refusals_of(server_.name(), server_.ask("SendMessageBatch", text, until));
    std::set<std::string> refused;
    for (const auto& each : refusals) refused.insert(each.id);
    for (const auto* each : missing) {
      progress_[position(each)] =
          refused.contains(each->id) ? publication::not_stored : publication::stored;
    }
    if (refusals.empty()) return;
    for (const auto& each : refusals) {
      const auto passing = aws::is_passing(0, each.code) || !each.sender_fault;
      if (passing) continue;
      // Of what it refuses for good, it says so with the status of a bad request.
      auto why = refusal(server_.name(), 400, {each.code, each.words});
      why.effect = effect::unknown;
      throw failed{std::move(why)};
    }
    std::erase_if(missing, [&](const auto* each) { return !refused.contains(each->id); });
    if (missing.empty() || !pause.wait()) {
      const auto& first = refusals.front();
      throw failed{error(errc::broker_unreachable,
                         server_.name() + ": the server does not take all messages: " + first.code +
                             ": " + first.words,
                         effect::unknown)};
    }
  }
}

}  // namespace onceguard::messaging::sqs
