#include "store/dynamodb/table/table_setup.hpp"

#include <array>

#include <nlohmann/json.hpp>

#include "base/hex.hpp"
#include "base/random.hpp"
#include "store/dynamodb/table/table_description.hpp"
#include "store/dynamodb/wire/request_bodies.hpp"

namespace onceguard::dynamodb {
namespace {

using nlohmann::json;

/// DynamoDB makes a table within seconds, rarely within minutes.
constexpr milliseconds longest_making{300'000};
constexpr milliseconds poll_pause{100};

error refuse_table(const address& target, const std::string& fault) {
  return {errc::invalid_argument, target.name() + ": " + fault};
}

error being_made(const address& target) {
  return {errc::store_unreachable, target.name() + ": the table is being made, or removed"};
}

result<std::optional<metadata>> ask_for_metadata(blocking_calls& calls) {
  const auto question = get_item(calls.target().table, metadata_id);
  const auto answer = calls.ask(question.action, question.body);
  if (!answer) return answer.error();
  if (answer->seen.no_table) return no_table(calls.target());
  return read_metadata(answer->body);
}

std::optional<error> check_version(const address& target, const metadata& found) {
  if (found.version <= table_version) return std::nullopt;
  return refuse_table(target, "the table has the form " + std::to_string(found.version) +
                                  " of a newer version of onceguard, and this one knows " +
                                  std::to_string(table_version));
}

/// Until it can be used.
std::optional<error> await_table(blocking_calls& calls) {
  for (;;) {
    const auto facts = describe_table(calls);
    if (!facts) return facts.error();
    if (facts->exists && !facts->fault.empty()) return refuse_table(calls.target(), facts->fault);
    if (facts->exists && facts->active) return std::nullopt;
    if (calls.over()) return being_made(calls.target());
    pause_for(poll_pause);
  }
}

/// True: it was made now.
result<bool> make_table(blocking_calls& calls) {
  const auto facts = describe_table(calls);
  if (!facts) return facts.error();
  if (facts->exists && !facts->fault.empty()) return refuse_table(calls.target(), facts->fault);
  if (facts->exists) return false;
  // Somebody else may make it at the same time.
  const auto made =
      calls.ask("CreateTable", table_definition(calls.target().table), "ResourceInUseException");
  if (!made) return made.error();
  return true;
}

std::optional<error> let_items_expire(blocking_calls& calls) {
  const auto already = expires_items(calls);
  if (!already) return already.error();
  if (*already) return std::nullopt;
  const json wanted{
      {"TableName", calls.target().table},
      {"TimeToLiveSpecification", {{"AttributeName", attribute::ttl}, {"Enabled", true}}}};
  const auto done = calls.ask("UpdateTimeToLive", wanted.dump());
  return done ? std::nullopt : std::optional(done.error());
}

std::optional<error> put_metadata(blocking_calls& calls) {
  std::array<unsigned char, 16> identity{};
  base::random_bytes(identity);
  const json item{{attribute::id, {{"S", metadata_id}}},
                  {"identity", {{"S", base::to_hex(identity)}}},
                  {"version", {{"N", std::to_string(table_version)}}},
                  {"generation", {{"N", "1"}}},
                  {"forgotten", {{"N", "0"}}}};
  const json put{{"TableName", calls.target().table},
                 {"Item", item},
                 // Of two that migrate at the same time, the identity of the first one stays.
                 {"ConditionExpression", "attribute_not_exists(#id)"},
                 {"ExpressionAttributeNames", {{"#id", attribute::id}}}};
  const auto done = calls.ask("PutItem", put.dump());
  return done ? std::nullopt : std::optional(done.error());
}

result<store_kind::migrated> migrate(const store_params& params, bool) {
  const auto target = parse_address(params.url);
  if (!target) return target.error();
  aws::credential_source credentials("Amazon DynamoDB");
  if (const auto found = credentials.current(); !found) return found.error();
  blocking_calls calls(*target, credentials, std::max(params.timeout, longest_making));
  const auto made = make_table(calls);
  if (!made) return made.error();
  if (auto why = await_table(calls)) return std::move(*why);
  if (auto why = let_items_expire(calls)) return std::move(*why);
  store_kind::migrated out;
  out.version = table_version;
  auto found = ask_for_metadata(calls);
  if (!found) return found.error();
  if (*found) {
    if (auto why = check_version(*target, **found)) return std::move(*why);
    out.former = static_cast<int>((*found)->version);
    return out;
  }
  if (auto why = put_metadata(calls)) return std::move(*why);
  return out;
}

}  // namespace

error metadata_missing(const address& target) {
  error out(errc::store_unreachable,
            target.name() +
                ": the table has not the store's own item \"onceguard\"; \"onceguard migrate "
                "--store " +
                target.name() + "\" makes it in a table that is new");
  out.lasting = true;
  return out;
}

std::optional<error> check_table(const address& target, aws::credential_source& credentials,
                                 milliseconds timeout) {
  blocking_calls calls(target, credentials, timeout);
  const auto facts = describe_table(calls);
  if (!facts) return facts.error();
  if (!facts->exists) return no_table(target);
  if (!facts->fault.empty()) return refuse_table(target, facts->fault);
  if (!facts->active) return being_made(target);
  const auto found = ask_for_metadata(calls);
  if (!found) return found.error();
  if (!*found) return metadata_missing(target);
  return check_version(target, **found);
}

const store_kind::schema_tools& table_tools() noexcept {
  static const store_kind::schema_tools tools{.migrate = migrate, .script = nullptr};
  return tools;
}

}  // namespace onceguard::dynamodb
