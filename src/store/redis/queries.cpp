#include "store/redis/queries.hpp"

#include "base/hash.hpp"
#include "store/redis/resp.hpp"
#include "store/view.hpp"

namespace onceguard::redis {
namespace {

// Names that one step of a scan examines. The server does nothing else meanwhile.
constexpr int names_a_step = 250;

std::uint64_t count_in(const reply& reply) {
  return reply.number<std::uint64_t>(~std::uint64_t{0});
}

}  // namespace

// --- records --------------------------------------------------------------------------------

const record* record_in(const reading& seen) noexcept {
  return seen.found ? &seen.found->record : nullptr;
}

stamp first_in(const reading& seen) noexcept { return seen.found ? seen.found->first : 0; }

std::optional<error> fault_of(const reading& seen) {
  if (seen.unreadable) return seen.unreadable;
  if (seen.found && !seen.found->record.about) return subject_unreadable();
  return std::nullopt;
}

request_traits record_calls::traits_of(const item& item) {
  request_traits out;
  out.about = item.id;
  out.writes = item.which != script::look;
  out.grants = item.grants;
  out.announces = item.announces;
  out.repeatable = item.repeatable;
  return out;
}

void record_calls::write(std::string& text, const script_digests& scripts, const keyspace& names,
                         const item& item) {
  const auto key = names.record(item.id);
  switch (item.which) {
    case script::claim:
      return append_call(text, scripts, item.which, key, {}, {item.payload, item.life});
    case script::swap:
      return append_call(text, scripts, item.which, key,
                         item.forgets ? names.metadata(names.part_of(item.id)) : std::string_view(),
                         {item.begins, item.payload, item.life});
    case script::look:
    case script::greet:
    case script::count:
      return append_call(text, scripts, script::look, key, {}, {});
  }
}

result<reading> record_calls::read(const reply& reply, const item&) {
  reading out;
  out.written = !reply.is_array();
  const auto time = read_stamp(out.written ? reply.text() : reply.at(0).text());
  if (!time) throw unexpected_reply("a stamp that is none");
  out.at = *time;
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

void write_greeting(std::string& text, const script_digests& scripts, std::string_view metadata,
                    bool evictions, const introduction* intro) {
  std::array<unsigned char, 16> random{};
  base::random_bytes(random);
  const auto identity = base::to_hex(random);
  const std::string_view loss = evictions ? "1" : "0";
  if (intro == nullptr) {
    return append_call(text, scripts, script::greet, metadata, {}, {identity, loss});
  }
  append_call(text, scripts, script::greet, metadata, {},
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
  return out;
}

request_traits polls::traits_of(const item& item) {
  request_traits out;
  out.about.emplace();
  out.about->front() = static_cast<unsigned char>(item.part);
  return out;
}

void polls::write(std::string& text, const script_digests& scripts, const keyspace& names,
                  const item& item) {
  write_greeting(text, scripts, names.metadata(item.part), item.evictions, nullptr);
}

// --- servers --------------------------------------------------------------------------------

request_traits name_scans::traits_of(const item& item) {
  request_traits out;
  out.pin = item.pin;
  return out;
}

void name_scans::write(std::string& text, const script_digests&, const keyspace& names,
                       const item& item) {
  append_command(
      text, {"SCAN", item.cursor, "MATCH", names.record_pattern(), "COUNT", decimal(names_a_step)});
}

result<name_scans::outcome> name_scans::read(const reply& reply, const item&) {
  outcome out;
  out.cursor = reply.at(0).text();
  const auto names = reply.at(1);
  for (std::size_t i = 0; i < names.size(); ++i) out.names.emplace_back(names.at(i).text());
  return out;
}

request_traits node_lists::traits_of(const item& item) {
  request_traits out;
  out.pin = item.pin;
  return out;
}

void node_lists::write(std::string& text, const script_digests&, const keyspace&, const item&) {
  append_command(text, {"CLUSTER", "NODES"});
}

}  // namespace onceguard::redis
