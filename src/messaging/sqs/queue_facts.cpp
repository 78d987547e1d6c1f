#include "messaging/sqs/queue_facts.hpp"

#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"
#include "base/number_in.hpp"
#include "messaging/sqs/failure.hpp"

namespace onceguard::messaging::sqs {
namespace {

using nlohmann::json;

/// Of an object's member, or of what the server should have sent and has not.
const json& member(const connection& server, const json& object, const char* name) {
  if (const auto* const found = base::find_member(object, name)) return *found;
  throw failed{error(errc::conflict, server.name() + ": the answer of the server has no " + name)};
}

std::uint64_t number(const connection& server, const json& attributes, const char* name) {
  const auto text = base::value_of<std::string>(member(server, attributes, name)).value_or("");
  if (const auto found = base::number_in<std::uint64_t>(text)) return *found;
  throw failed{error(errc::conflict, server.name() + ": the queue's " + name + " is no number")};
}

/// Of a redrive policy, which is JSON in a string; as a number, or as a text.
std::uint64_t receives_in(const connection& server, const json& attributes) {
  if (base::find_member(attributes, "RedrivePolicy") == nullptr) return 0;
  const auto policy = json::parse(base::text_in(attributes, "RedrivePolicy"), nullptr, false);
  const auto count = base::member<std::uint64_t>(policy, "maxReceiveCount");
  return count ? *count : number(server, policy, "maxReceiveCount");
}

json attributes_of(connection& server, const std::string& queue_url, const json& names) {
  const json request{{"QueueUrl", queue_url}, {"AttributeNames", names}};
  const auto answer = json::parse(server.ask("GetQueueAttributes", request.dump()), nullptr, false);
  return member(server, answer, "Attributes");
}

}  // namespace

queue_facts find_queue(connection& server, const sqs_url& url) {
  const json request{{"QueueName", url.queue}};
  const auto answer = json::parse(server.ask("GetQueueUrl", request.dump()), nullptr, false);
  queue_facts out;
  out.queue_url = base::value_of<std::string>(member(server, answer, "QueueUrl")).value_or("");
  const auto attributes = attributes_of(server, out.queue_url,
                                        json::array({"VisibilityTimeout", "MessageRetentionPeriod",
                                                     "MaximumMessageSize", "RedrivePolicy"}));
  const auto seconds = [&](const char* name) {
    return milliseconds(1'000 * static_cast<std::int64_t>(number(server, attributes, name)));
  };
  out.visibility = seconds("VisibilityTimeout");
  out.retention = seconds("MessageRetentionPeriod");
  out.largest_message = number(server, attributes, "MaximumMessageSize");
  out.receives_max = receives_in(server, attributes);
  return out;
}

std::uint64_t count_ready(connection& server, const std::string& queue_url) {
  constexpr auto name = "ApproximateNumberOfMessages";
  return number(server, attributes_of(server, queue_url, json::array({name})), name);
}

}  // namespace onceguard::messaging::sqs
