#include "store/redis/commands/store_commands.hpp"

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/random.hpp"
#include "store/record_errors.hpp"
#include "store/redis/transport/resp.hpp"

namespace onceguard::redis {
namespace {

// Names that one step of a scan examines. The server does nothing else meanwhile.
constexpr int names_a_step = 250;

std::uint64_t count_in(const reply& reply) {
  return reply.number<std::uint64_t>(~std::uint64_t{0});
}

}  // namespace

// --- records --------------------------------------------------------------------------------

std::optional<error> fault_of(const reading& seen) {
  if (seen.unreadable) return seen.unreadable;
  if (seen.found && !seen.found->record.about) return subject_unreadable();
  return std::nullopt;
}

request record_request(const keyspace& names, const record_id& id) {
  request out;
  out.about = id;
  out.called = script::read;
  append_call(out.command, script::read, names.record(id), {}, {});
  return out;
}

request set_record(const keyspace& names, const record_id& id, std::string_view payload,
                   std::string_view life) {
  request out;
  out.about = id;
  out.called = script::claim;
  out.writes = true;
  append_call(out.command, script::claim, names.record(id), {}, {payload, life});
  return out;
}

request swap_record(const keyspace& names, const record_id& id, std::string_view begins,
                    std::string_view payload, std::string_view life, bool forgets) {
  request out;
  out.about = id;
  out.called = script::swap;
  out.writes = true;
  const auto metadata = forgets ? names.metadata(names.part_of(id)) : std::string_view();
  append_call(out.command, script::swap, names.record(id), metadata, {begins, payload, life});
  return out;
}

reading read_record(const reply& reply) {
  reading out;
  out.written = !reply.is_array();
  const auto time = read_stamp(out.written ? reply.text() : reply.at(0).text());
  if (!time) throw unexpected_reply("a stamp that is none");
  out.time = *time;
  out.now = instant_of(*time);
  if (out.written || reply.at(1).is_nil()) return out;
  const auto value = reply.at(1);
  if (value.is_error()) {
    out.begins = value.text().substr(0, value.text().find(' '));
    out.unreadable.emplace(errc::record_unreadable, "stored record: " + std::string(value.text()));
    return out;
  }
  out.begins = beginning_of(value.text());
  auto decoded = decode_value(value.text());
  if (decoded) {
    out.found = std::move(*decoded);
  } else {
    out.unreadable = decoded.error();
  }
  return out;
}

// --- metadata -------------------------------------------------------------------------------

void append_greeting(std::string& text, std::string_view metadata, bool evictions,
                     const introduction* intro) {
  std::array<unsigned char, 16> random{};
  base::random_bytes(random);
  const auto identity = base::to_hex(random);
  const std::string_view loss = evictions ? "1" : "0";
  if (intro == nullptr) {
    return append_call(text, script::greet, metadata, {}, {identity, loss});
  }
  append_call(text, script::greet, metadata, {},
              {identity, loss, intro->run, intro->node, intro->known.name, intro->known.run,
               decimal(intro->known.generation), intro->others_lose ? "1" : "0", intro->masters});
}

greeting read_greeting(const reply& reply) {
  greeting out;
  out.name = reply.at(0).text();
  out.generation = count_in(reply.at(1));
  out.now = reply.at(2).integer();
  out.lost = reply.at(3).integer() != 0;
  out.forgotten = count_in(reply.at(4));
  out.eviction = reply.at(5).text();
  out.evicted = count_in(reply.at(6));
  out.refused = reply.at(7).text();
  return out;
}

request poll_part(const keyspace& names, std::size_t part, bool evictions) {
  request out;
  out.about.emplace().front() = static_cast<unsigned char>(part);
  out.called = script::greet;
  append_greeting(out.command, names.metadata(part), evictions, nullptr);
  return out;
}

// --- notes of what may need a person ---------------------------------------------------------

request add_note(const keyspace& names, const record_id& id) {
  request out;
  out.about = id;
  out.writes = true;
  append_command(out.command,
                 {"HSET", names.attention(names.part_of(id)), base::as_chars(id), "1"});
  return out;
}

request drop_note(const keyspace& names, const record_id& id) {
  request out;
  out.about = id;
  out.writes = true;
  append_command(out.command, {"HDEL", names.attention(names.part_of(id)), base::as_chars(id)});
  return out;
}

request read_notes_of(const keyspace& names, std::size_t part) {
  request out;
  out.about.emplace().front() = static_cast<unsigned char>(part);
  append_command(out.command, {"HKEYS", names.attention(part)});
  return out;
}

std::vector<record_id> read_notes(const reply& reply) {
  std::vector<record_id> out;
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const auto digest = reply.at(i).text();
    record_id id{};
    if (digest.size() != id.size()) continue;  // not a note of ours
    std::copy(digest.begin(), digest.end(), id.begin());
    out.push_back(id);
  }
  return out;
}

request ask_for_state(const keyspace& names, const record_id& id) {
  request out;
  out.about = id;
  // One byte: a sweep comes by all records, and their answers may be long.
  const auto position = decimal(state_at);
  append_command(out.command, {"GETRANGE", names.record(id), position, position});
  return out;
}

bool is_settled(const reply& reply) {
  const auto byte = reply.text();
  if (byte.empty()) return true;
  const auto state = static_cast<record_state>(byte.front());
  return state >= record_state::completed && state <= record_state::released;
}

// --- servers --------------------------------------------------------------------------------

request scan_names(const keyspace& names, const server_pin& pin, std::string_view cursor) {
  request out;
  out.pin = pin;
  append_command(out.command,
                 {"SCAN", cursor, "MATCH", names.record_pattern(), "COUNT", decimal(names_a_step)});
  return out;
}

name_list read_names(const reply& reply) {
  name_list out;
  out.cursor = reply.at(0).text();
  const auto names = reply.at(1);
  for (std::size_t i = 0; i < names.size(); ++i) out.names.emplace_back(names.at(i).text());
  return out;
}

request ask_for_nodes(const server_pin& pin) {
  request out;
  out.pin = pin;
  append_command(out.command, {"CLUSTER", "NODES"});
  return out;
}

}  // namespace onceguard::redis
