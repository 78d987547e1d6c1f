#include "store/dynamodb/wire/item.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "base/hex.hpp"
#include "base/json_reader.hpp"
#include "base/number_in.hpp"

namespace onceguard::dynamodb {
namespace {

using nlohmann::json;

error not_understood(const std::string& why) {
  return {errc::store_unreachable, "dynamodb store: an answer is not understood: " + why,
          effect::unknown};
}

/// The value of an attribute of that type; null: it has none.
const std::string* attribute_value(const json& attributes, const char* name, const char* type) {
  const auto* const found = base::find_member(attributes, name);
  const auto* const value = found != nullptr ? base::find_member(*found, type) : nullptr;
  return value != nullptr ? value->get_ptr<const std::string*>() : nullptr;
}

std::string attribute_text(const json& attributes, const char* name) {
  const auto* const found = attribute_value(attributes, name, "S");
  return found != nullptr ? *found : std::string();
}

std::uint64_t attribute_number(const json& attributes, const char* name) {
  const auto* const found = attribute_value(attributes, name, "N");
  return found != nullptr ? base::number_in<std::uint64_t>(*found).value_or(0) : 0;
}

std::optional<std::string> attribute_bytes(const json& attributes, const char* name) {
  const auto* const found = attribute_value(attributes, name, "B");
  return found != nullptr ? base::from_base64(*found) : std::nullopt;
}

item item_of(const json& attributes) {
  item out;
  out.id = attribute_text(attributes, attribute::id);
  if (const auto* const lease = attribute_value(attributes, attribute::lease, "S"))
    out.lease = *lease;
  out.record = attribute_bytes(attributes, attribute::record);
  out.piece = attribute_bytes(attributes, attribute::piece);
  out.open = attribute_text(attributes, attribute::open);
  out.first = attribute_number(attributes, attribute::first);
  out.observed = attribute_number(attributes, attribute::observed);
  return out;
}

/// The member of the answer which is an object; null: there is none.
const json* object_in(const json& answer, const char* name) {
  const auto* const found = base::find_member(answer, name);
  return found != nullptr && found->is_object() ? found : nullptr;
}

/// Reads an answer, which must be an object.
template <class Read>
auto read_object(const std::string& answer, Read read) -> decltype(read(json())) {
  const auto parsed = json::parse(answer, nullptr, false);
  if (!parsed.is_object()) return not_understood("it is no JSON object");
  try {
    return read(parsed);
  } catch (const json::exception& wrong) {
    return not_understood(wrong.what());
  }
}

}  // namespace

std::string key_of(const record_id& id) { return base::to_hex(id); }

std::optional<record_id> record_of(std::string_view key) {
  record_id out{};
  if (!base::from_hex(key, out)) return std::nullopt;
  return out;
}

std::string piece_key(const record_id& id, std::uint64_t name, std::uint64_t number) {
  std::array<unsigned char, 8> digits{};
  for (auto byte = digits.rbegin(); byte != digits.rend(); ++byte, name >>= 8) {
    *byte = static_cast<unsigned char>(name & 0xff);
  }
  return key_of(id) + '#' + base::to_hex(digits) + '#' + std::to_string(number);
}

std::string running_part(std::size_t part) { return "running-" + std::to_string(part); }
std::string waiting_part(std::size_t part) { return "waiting-" + std::to_string(part); }
std::size_t part_of(const record_id& id) noexcept { return id.front() % index_parts; }

result<std::optional<item>> read_item(const std::string& answer) {
  return read_object(answer, [](const json& parsed) -> result<std::optional<item>> {
    const auto* found = object_in(parsed, "Item");
    // Of a transaction, its reasons have them.
    for (const auto& each : base::list_in(parsed, "CancellationReasons")) {
      if (found == nullptr) found = object_in(each, "Item");
    }
    if (found == nullptr) return std::optional<item>();
    return std::optional<item>(item_of(*found));
  });
}

result<item_page> read_page(const std::string& answer) {
  return read_object(answer, [](const json& parsed) -> result<item_page> {
    item_page out;
    for (const auto& each : parsed.at("Items")) out.items.push_back(item_of(each));
    if (const auto* const last = object_in(parsed, "LastEvaluatedKey")) {
      out.last_key = attribute_text(*last, attribute::id);
      out.last_key_text = last->dump();
    }
    return out;
  });
}

result<item_page> read_batch(const std::string& answer, const std::string& table) {
  return read_object(answer, [&](const json& parsed) -> result<item_page> {
    item_page out;
    const auto& all = parsed.at("Responses");
    if (const auto found = all.find(table); found != all.end()) {
      for (const auto& each : *found) out.items.push_back(item_of(each));
    }
    const auto* const unserved = object_in(parsed, "UnprocessedKeys");
    if (unserved == nullptr || !unserved->contains(table)) return out;
    for (const auto& each : unserved->at(table).at("Keys")) {
      out.unserved.push_back(attribute_text(each, attribute::id));
    }
    return out;
  });
}

result<std::optional<metadata>> read_metadata(const std::string& answer) {
  return read_object(answer, [](const json& parsed) -> result<std::optional<metadata>> {
    const auto* found = object_in(parsed, "Item");
    if (found == nullptr) found = object_in(parsed, "Attributes");
    if (found == nullptr) return std::optional<metadata>();
    metadata out;
    out.identity = attribute_text(*found, "identity");
    out.version = attribute_number(*found, "version");
    out.generation = attribute_number(*found, "generation");
    out.forgotten = attribute_number(*found, "forgotten");
    return std::optional<metadata>(std::move(out));
  });
}

}  // namespace onceguard::dynamodb
