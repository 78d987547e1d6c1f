#include "store/redis/operator_queries.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "store/redis/arguments.hpp"
#include "store/redis/stored.hpp"
#include "store/view.hpp"

namespace onceguard::redis {
namespace {

// Names that one step examines. The server does nothing else meanwhile.
constexpr int names_a_step = 250;
constexpr std::uint64_t any = ~std::uint64_t{0};

instant at_once(std::int64_t now) {
  instant out;
  out.lease = out.wall = now;
  return out;
}

std::array<unsigned char, 8> bytes_of(token value) {
  std::array<unsigned char, 8> out{};
  for (auto byte = out.rbegin(); byte != out.rend(); ++byte, value >>= 8) {
    *byte = static_cast<unsigned char>(value & 0xff);
  }
  return out;
}

}  // namespace

std::string cursor_of(const listed& last) {
  return base::to_hex(bytes_of(last.first)) + base::to_hex(last.id);
}

result<listed> read_cursor(const std::string& cursor) {
  listed out;
  if (cursor.empty()) return out;
  constexpr std::size_t digits = 16;
  std::array<unsigned char, digits / 2> first{};
  const std::string_view text = cursor;
  const bool good = text.size() > digits && base::from_hex(text.substr(0, digits), first) &&
                    base::from_hex(text.substr(digits), out.id);
  if (!good) return error(errc::invalid_argument, "redis store: no cursor of this store");
  for (const auto byte : first) out.first = out.first << 8 | byte;
  return out;
}

// --- resolve --------------------------------------------------------------------------------

void write_resolve(std::string& text, const script_calls& scripts, const keyspace& names,
                   const resolution& request, bool answer_damaged) {
  auto about = request.about ? *request.about : subject();
  about.print = {};
  const auto bytes = request.answer ? encode_answer(*request.answer) : std::string();
  const auto kept = request.answer ? answer_kept::full : answer_kept::none;
  append_call(text, scripts, script::resolve, names.record(request.id),
              names.counters_and_metadata(names.part_of(request.id)),
              {request.completed ? "1" : "0", request.force ? "1" : "0", text_of(request.retention),
               decimal(static_cast<int>(kept)), bytes, answer_sum(bytes), names.settled(),
               encode_subject(about), answer_damaged ? "1" : "0"});
}

result<resolve_decision> read_resolve(const reply& reply) {
  const auto kind = reply.at(0).text();
  resolve_decision out;
  if (kind == "done") {
    out.forgets_answer = reply.at(2).integer() != 0;
  } else if (kind == "not_found") {
    out.outcome = resolve_outcome::not_found;
  } else if (kind == "running") {
    out.outcome = resolve_outcome::running;
    out.retry_after = milliseconds(reply.at(2).integer());
  } else if (kind == "already_completed") {
    out.outcome = resolve_outcome::already_completed;
  } else {
    throw unexpected_reply("no such outcome of a resolution");
  }
  return out;
}

// --- adopt ----------------------------------------------------------------------------------

std::optional<error> complaint(const imported_record& request) {
  const auto& r = request.stored;
  if (!r.about) return subject_missing();
  if (auto why = too_large(*r.about)) return why;
  return too_large(r.token);
}

void write_import(std::string& text, const script_calls& scripts, const keyspace& names,
                  const imported_record& request) {
  const auto& r = request.stored;
  const auto bytes = r.answer ? encode_answer(*r.answer) : std::string();
  append_call(text, scripts, script::import_record, names.record(request.id), names.counters(),
              {decimal(r.token), base::as_chars(r.claim_id), decimal(static_cast<int>(r.state)),
               decimal(flags_of(r)), decimal(static_cast<int>(r.why)), decimal(r.why_status),
               decimal(static_cast<int>(r.kept)), decimal(r.attempt), decimal(r.failures),
               text_of(request.lease_over), text_of(request.retry_after),
               text_of(request.claimed_ago), text_of(request.settled_ago),
               text_of(request.retention_left), text_of(milliseconds(r.unknown_retention_ms)),
               encode_subject(*r.about), bytes, answer_sum(bytes)});
}

result<import_outcome> read_import(const reply& reply) {
  const auto kind = reply.at(0).text();
  if (kind == "done") return import_outcome::imported;
  if (kind == "there") return import_outcome::already_there;
  if (kind == "conflict") return import_outcome::conflict;
  if (kind == "ahead") {
    return error(errc::invalid_argument,
                 "its token is far ahead of this cluster's clock: the clock of the store that it "
                 "comes from was ahead, or this one's is late");
  }
  throw unexpected_reply("no such outcome of an adoption");
}

// --- find -----------------------------------------------------------------------------------

void write_find(std::string& text, const script_calls& scripts, const keyspace& names,
                const record_id& id) {
  append_call(text, scripts, script::find, names.record(id), {}, {});
}

result<std::optional<record_view>> read_find(const reply& reply, const record_id& id) {
  const auto now = reply.at(0).integer();
  if (reply.size() < 2) return std::optional<record_view>();
  auto found = decode_stored(reply.at(1).text());
  if (!found) return found.error();
  return std::optional<record_view>(make_view(id, std::move(found->record), at_once(now)));
}

// --- going through all of them --------------------------------------------------------------

void write_scan(std::string& text, const script_calls& scripts, const keyspace& names,
                const std::string& cursor, int state, bool heads) {
  append_call(text, scripts, script::scan, {}, {},
              {cursor, names.record_pattern(), decimal(names_a_step), decimal(state),
               heads ? "heads" : "states"});
}

result<scan_step> read_scan(const reply& reply, const keyspace& names, bool heads) {
  scan_step out;
  out.cursor = reply.at(0).text();
  const auto now = at_once(reply.at(1).integer());
  const auto broken = reply.at(4);
  for (std::size_t i = 0; i + 1 < broken.size(); i += 2) {
    // A name that is not that of a record is skipped.
    const auto id = names.id_of(broken.at(i).text());
    if (id) out.unreadable.push_back({*id, std::string(broken.at(i + 1).text())});
  }
  const auto found = reply.at(3);
  if (!heads) {
    for (std::size_t state = 1; state <= observed_states; ++state) {
      out.counts[state] = found.at(state - 1).number<std::uint64_t>(any);
    }
    return out;
  }
  for (std::size_t i = 0; i + 1 < found.size(); i += 2) {
    const auto id = names.id_of(found.at(i).text());
    auto head = decode_head(found.at(i + 1).text());
    if (!id) continue;
    if (!head) {
      out.unreadable.push_back({*id, head.error().detail});
      continue;
    }
    out.found.emplace_back(listed{head->first, *id}, make_view(*id, std::move(head->record), now));
  }
  return out;
}

// --- one node's names, one record's head ----------------------------------------------------

void write_head(std::string& text, const script_calls& scripts, const keyspace& names,
                const record_id& id) {
  append_call(text, scripts, script::head, names.record(id), {}, {});
}

result<found_head> read_head(const reply& reply, const record_id& id) {
  if (reply.size() < 2) return found_head();
  auto head = decode_head(reply.at(1).text());
  if (!head) return head.error();
  const auto now = at_once(reply.at(0).integer());
  return found_head({listed{head->first, id}, make_view(id, std::move(head->record), now)});
}

void write_names(std::string& text, const keyspace& names, const std::string& cursor) {
  append_command(text,
                 {"SCAN", cursor, "MATCH", names.record_pattern(), "COUNT", decimal(names_a_step)});
}

name_step read_names(const reply& reply, const keyspace& names) {
  name_step out;
  out.cursor = reply.at(0).text();
  const auto found = reply.at(1);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (const auto id = names.id_of(found.at(i).text())) out.found.push_back(*id);
  }
  return out;
}

// --- vitals ---------------------------------------------------------------------------------

void write_vitals(std::string& text, const script_calls& scripts, const keyspace& names,
                  std::size_t part, bool copies_only) {
  std::array<unsigned char, 16> random{};
  base::random_bytes(random);
  append_call(text, scripts, script::vitals, names.metadata(part), names.counters(),
              {base::to_hex(random), copies_only ? "0" : "1"});
}

part_vitals read_vitals(const reply& reply) {
  part_vitals out;
  out.of.identity = reply.at(0).text();
  out.of.generation = reply.at(1).number<std::uint64_t>(any);
  out.of.forgotten = reply.at(2).number<std::uint64_t>(any);
  out.now = reply.at(3).integer();
  out.eviction = reply.at(4).text();
  out.evicted = reply.at(5).number<std::uint64_t>(any);
  return out;
}

}  // namespace onceguard::redis
