#include "store/dynamodb/table/table_description.hpp"

#include <nlohmann/json.hpp>

#include "store/dynamodb/wire/item.hpp"

namespace onceguard::dynamodb {
namespace {

using nlohmann::json;

error not_understood(const address& target) {
  return {errc::store_unreachable,
          target.name() + ": the description of the table is not understood"};
}

json key_part(const char* name, const char* type) {
  return {{"AttributeName", name}, {"KeyType", type}};
}
json attribute_type(const char* name, const char* type) {
  return {{"AttributeName", name}, {"AttributeType", type}};
}

json keys_of_table() { return json::array({key_part(attribute::id, "HASH")}); }
json keys_of_index() {
  return json::array({key_part(attribute::open, "HASH"), key_part(attribute::first, "RANGE")});
}
json types() {
  return json::array({attribute_type(attribute::id, "S"), attribute_type(attribute::open, "S"),
                      attribute_type(attribute::first, "N")});
}

/// Of another table, the key is another one; of a table that was made by hand, the index is wrong.
std::string table_fault(const json& table) {
  if (table.value("KeySchema", json()) != keys_of_table()) {
    return "its key is not the one attribute id, a string: it is another program's table";
  }
  const auto definitions = table.value("AttributeDefinitions", json::array());
  for (const auto& wanted : types()) {
    const auto name = wanted.at("AttributeName").get<std::string>();
    for (const auto& each : definitions) {
      if (each.value("AttributeName", "") != name || each == wanted) continue;
      return "its attribute " + name + " is of another type: it is another program's table";
    }
  }
  for (const auto& index : table.value("GlobalSecondaryIndexes", json::array())) {
    if (index.value("IndexName", "") != index_name) continue;
    return index.value("KeySchema", json()) == keys_of_index()
               ? std::string()
               : std::string("its index \"open\" has another key: it is another program's table");
  }
  return "it has no index \"open\": it is another program's table, or was not made by "
         "\"onceguard migrate\"";
}

bool table_is_active(const json& table) {
  // A table that is changed (other billing, for example) serves all requests meanwhile.
  const auto serves = [](const std::string& status) {
    return status == "ACTIVE" || status == "UPDATING";
  };
  if (!serves(table.value("TableStatus", ""))) return false;
  for (const auto& index : table.value("GlobalSecondaryIndexes", json::array())) {
    if (!serves(index.value("IndexStatus", "ACTIVE"))) return false;
  }
  return true;
}

json name_of_table(const address& target) { return {{"TableName", target.table}}; }

}  // namespace

result<table_facts> describe_table(blocking_calls& calls) {
  const auto answer = calls.ask("DescribeTable", name_of_table(calls.target()).dump());
  if (!answer) return answer.error();
  table_facts out;
  out.date = answer->date;
  if (answer->seen.no_table) return out;
  const auto parsed = json::parse(answer->body, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("Table")) return not_understood(calls.target());
  try {
    const auto& table = parsed.at("Table");
    out.exists = true;
    out.active = table_is_active(table);
    out.fault = table_fault(table);
    out.protected_from_deletion = table.value("DeletionProtectionEnabled", false);
  } catch (const json::exception&) {
    return not_understood(calls.target());
  }
  return out;
}

result<bool> expires_items(blocking_calls& calls) {
  const auto answer = calls.ask("DescribeTimeToLive", name_of_table(calls.target()).dump());
  if (!answer) return answer.error();
  const auto parsed = json::parse(answer->body, nullptr, false);
  if (!parsed.is_object()) return not_understood(calls.target());
  try {
    const auto found = parsed.value("TimeToLiveDescription", json::object());
    const auto status = found.value("TimeToLiveStatus", std::string());
    const bool enabled = status == "ENABLED" || status == "ENABLING";
    return enabled && found.value("AttributeName", std::string()) == attribute::ttl;
  } catch (const json::exception&) {
    return not_understood(calls.target());
  }
}

std::string table_definition(const std::string& table) {
  const json index{{"IndexName", index_name},
                   {"KeySchema", keys_of_index()},
                   {"Projection", {{"ProjectionType", "KEYS_ONLY"}}}};
  return json{{"TableName", table},
              {"AttributeDefinitions", types()},
              {"KeySchema", keys_of_table()},
              {"GlobalSecondaryIndexes", json::array({index})},
              {"BillingMode", "PAY_PER_REQUEST"}}
      .dump();
}

}  // namespace onceguard::dynamodb
