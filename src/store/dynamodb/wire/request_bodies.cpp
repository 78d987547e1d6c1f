#include "store/dynamodb/wire/request_bodies.hpp"

#include <nlohmann/json.hpp>

#include "base/base64.hpp"

namespace onceguard::dynamodb {
namespace {

using nlohmann::json;

json text_attribute(std::string_view value) { return {{"S", value}}; }
json number_attribute(std::uint64_t value) { return {{"N", std::to_string(value)}}; }
json bytes_attribute(std::string_view value) { return {{"B", base::to_base64(value)}}; }
json key(std::string_view id) { return {{attribute::id, text_attribute(id)}}; }

request made(std::string_view action, const json& body, bool writes) {
  // All texts are of this program or base64: nothing can't be UTF-8.
  return {.action = action, .body = body.dump(), .writes = writes};
}

/// Adds to the request what must be true of the item: that it is still as it was read.
void expect(json& call, const std::optional<item>& replaced) {
  // What stands in the way comes with the refusal, and needs no second request.
  call["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD";
  if (!replaced) {
    call["ConditionExpression"] = "attribute_not_exists(#id)";
    call["ExpressionAttributeNames"] = {{"#id", attribute::id}};
    return;
  }
  call["ExpressionAttributeNames"] = {{"#lease", attribute::lease}, {"#record", attribute::record}};
  std::string condition;
  json values = json::object();
  if (replaced->lease) {
    condition = "#lease = :lease";
    values[":lease"] = text_attribute(*replaced->lease);
  } else {
    condition = "attribute_not_exists(#lease)";
  }
  // The lease says which write it was, the record that nobody has damaged it since.
  if (replaced->record) {
    condition += " AND #record = :record";
    values[":record"] = bytes_attribute(*replaced->record);
  } else {
    condition += " AND NOT attribute_type(#record, :binary)";
    values[":binary"] = text_attribute("B");
  }
  call["ConditionExpression"] = condition;
  call["ExpressionAttributeValues"] = std::move(values);
}

json put_call(const std::string& table, const record_item& written,
              const std::optional<item>& replaced) {
  json attributes{{attribute::id, text_attribute(key_of(written.id))},
                  {attribute::lease, text_attribute(written.lease)},
                  {attribute::record, bytes_attribute(written.payload)},
                  {attribute::first, number_attribute(written.first)}};
  if (!written.open.empty()) attributes[attribute::open] = text_attribute(written.open);
  if (written.ttl)
    attributes[attribute::ttl] = number_attribute(static_cast<std::uint64_t>(*written.ttl));
  json out{{"TableName", table}, {"Item", std::move(attributes)}};
  expect(out, replaced);
  return out;
}

}  // namespace

request put_record(const std::string& table, const record_item& written,
                   const std::optional<item>& replaced) {
  return made("PutItem", put_call(table, written, replaced), true);
}

request put_and_count(const std::string& table, const record_item& written,
                      const std::optional<item>& replaced, const std::string& token) {
  const json count{
      {"TableName", table},
      {"Key", key(metadata_id)},
      {"UpdateExpression", "ADD #forgotten :one"},
      {"ConditionExpression", "attribute_exists(#identity)"},
      {"ExpressionAttributeNames", {{"#forgotten", "forgotten"}, {"#identity", "identity"}}},
      {"ExpressionAttributeValues", {{":one", number_attribute(1)}}}};
  json all = json::array();
  all.push_back({{"Put", put_call(table, written, replaced)}});
  all.push_back({{"Update", count}});
  // TransactWriteItems, API reference: within ten minutes the same token is carried out once. So a
  // request whose answer was lost is sent again, and counts once.
  return made("TransactWriteItems",
              {{"TransactItems", std::move(all)}, {"ClientRequestToken", token}}, true);
}

request put_piece(const std::string& table, const std::string& id, std::string_view content,
                  const std::optional<std::int64_t>& ttl) {
  json attributes{{attribute::id, text_attribute(id)},
                  {attribute::piece, bytes_attribute(content)}};
  if (ttl) attributes[attribute::ttl] = number_attribute(static_cast<std::uint64_t>(*ttl));
  return made("PutItem", {{"TableName", table}, {"Item", std::move(attributes)}}, true);
}

request get_item(const std::string& table, std::string_view id) {
  // Verdicts that write nothing rest on this read alone, so it has to show each acknowledged write.
  return made("GetItem", {{"TableName", table}, {"Key", key(id)}, {"ConsistentRead", true}}, false);
}

request get_items(const std::string& table, const std::vector<std::string>& keys) {
  json all = json::array();
  for (const auto& each : keys) all.push_back(key(each));
  const json wanted{{"Keys", std::move(all)}, {"ConsistentRead", true}};
  return made("BatchGetItem", {{"RequestItems", {{table, wanted}}}}, false);
}

request note_item(const std::string& table, const item& seen, const std::string& open,
                  const std::optional<std::uint64_t>& observed) {
  json names{{"#lease", attribute::lease}};
  json values = json::object();
  std::string update;
  const auto set = [&](const char* name, json value) {
    update += (update.empty() ? "SET #" : ", #") + std::string(name) + " = :" + name;
    names["#" + std::string(name)] = name;
    values[":" + std::string(name)] = std::move(value);
  };
  if (!open.empty()) {
    set(attribute::open, text_attribute(open));
    set(attribute::first, number_attribute(seen.first));  // the index lists no item without it
  }
  if (observed) set(attribute::observed, number_attribute(*observed));
  std::string condition = "attribute_not_exists(#lease) AND attribute_exists(#id)";
  if (seen.lease) {
    condition = "#lease = :lease";
    values[":lease"] = text_attribute(*seen.lease);
  } else {
    names["#id"] = attribute::id;
  }
  return made("UpdateItem",
              {{"TableName", table},
               {"Key", key(seen.id)},
               {"UpdateExpression", update},
               {"ConditionExpression", condition},
               {"ExpressionAttributeNames", std::move(names)},
               {"ExpressionAttributeValues", std::move(values)}},
              true);
}

request scan_page(const std::string& table, const std::string& after) {
  json out{{"TableName", table},
           {"ConsistentRead", true},
           {"FilterExpression", "attribute_not_exists(#piece)"},
           {"ExpressionAttributeNames", {{"#piece", attribute::piece}}}};
  if (!after.empty()) out["ExclusiveStartKey"] = key(after);
  return made("Scan", out, false);
}

// A global index has no ConsistentRead: what it lists is read from the table before it counts.
request query_part(const std::string& table, const std::string& part, std::uint64_t earliest,
                   const std::string& after) {
  json out{{"TableName", table},
           {"IndexName", index_name},
           {"KeyConditionExpression", "#open = :part AND #first >= :from"},
           {"ExpressionAttributeNames", {{"#open", attribute::open}, {"#first", attribute::first}}},
           {"ExpressionAttributeValues",
            {{":part", text_attribute(part)}, {":from", number_attribute(earliest)}}}};
  if (!after.empty()) out["ExclusiveStartKey"] = json::parse(after, nullptr, false);
  return made("Query", out, false);
}

request poll_metadata(const std::string& table, bool writes) {
  if (!writes) return get_item(table, metadata_id);
  return made(
      "UpdateItem",
      {{"TableName", table},
       {"Key", key(metadata_id)},
       // Sent again, it may count twice: all that matters is that the generation grows.
       {"UpdateExpression", "ADD #generation :one"},
       {"ConditionExpression", "attribute_exists(#identity)"},
       {"ExpressionAttributeNames", {{"#generation", "generation"}, {"#identity", "identity"}}},
       {"ExpressionAttributeValues", {{":one", number_attribute(1)}}},
       {"ReturnValues", "ALL_NEW"}},
      true);
}

}  // namespace onceguard::dynamodb
