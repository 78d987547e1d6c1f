#include "cli/keys/export_file.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <onceguard/fingerprint.hpp>

#include "base/base64.hpp"
#include "base/hash.hpp"
#include "base/hex.hpp"
#include "base/json_reader.hpp"
#include "base/value_text.hpp"
#include "cli/keys/record_text.hpp"
#include "core/record_codec.hpp"
#include "text/json_text.hpp"

namespace onceguard::cli::keys {
namespace {

using base::member;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr int format = 2;
constexpr std::size_t sum_digits = 16;

digest chained(const digest& before, std::string_view line) {
  base::sha256 sum;
  return sum.raw(base::as_chars(before)).raw(line).finish();
}

/// The checksum of a record's line, over id, bytes and progress.
std::string sum_of(const record_id& id, std::string_view bytes,
                   const std::optional<recovery_point>& recovery) {
  base::sha256 sum;
  sum.part(base::as_chars(id)).part(bytes);
  if (recovery) sum.part(recovery->progress);
  return base::to_hex(sum.finish()).substr(0, sum_digits);
}

/// The record with all times relative to the moment of the export.
record relative_to_export(const imported_record& request) {
  record out = request.stored;
  out.deadline_lease = -request.lease_over.count();
  out.retry_at_lease = request.retry_after.count();
  out.claimed_at_wall = -request.claimed_ago.count();
  out.settled_at_wall = -request.settled_ago.count();
  out.expires_at_wall = request.retention_left.count();
  return out;
}

imported_record read_relative(const record_id& id, record stored) {
  const auto length = [](std::int64_t ms) { return milliseconds(std::max<std::int64_t>(ms, 0)); };
  imported_record out;
  out.id = id;
  out.lease_over = length(-stored.deadline_lease);
  out.retry_after = length(stored.retry_at_lease);
  out.claimed_ago = length(-stored.claimed_at_wall);
  out.settled_ago = length(-stored.settled_at_wall);
  out.retention_left = length(stored.expires_at_wall);
  out.stored = std::move(stored);
  return out;
}

/// Whoever uses the key would get what stands under the id. Empty: the id is the subject's.
std::string fault_of_id(const record_id& id, const subject& about) {
  // An operator's completion of a record that can't be read may not know whose it was.
  const bool is_known = !about.key.empty() || about.scope != digest{};
  if (!is_known || make_record_id(about.scope, about.key) == id) return {};
  return "the id is not that of key " + base::quoted(about.key) + " in scope " +
         base::to_hex(about.scope);
}

/// None: it is not work in steps.
result<std::optional<recovery_point>> recovery_in(const json& object) {
  auto step = member<std::string>(object, "step");
  const auto progress = member<std::string>(object, "progress");
  if (!step && !progress) return std::optional<recovery_point>();
  auto bytes = progress ? base::from_base64(*progress) : std::nullopt;
  if (!step || !bytes)
    return error(errc::invalid_argument,
                 "it is damaged: step is missing, or progress is not base64");
  return std::optional(recovery_point{std::move(*step), std::move(*bytes)});
}

}  // namespace

// --- writing --------------------------------------------------------------------------------

record_writer::record_writer(std::ostream& output, const export_head& head) : output_(output) {
  ordered_json line;
  line["onceguard_export"] = format;
  line["exported_at"] = time_text(head.exported_at);
  line["exported_at_ms"] = head.exported_at;
  line["store"] = head.store;
  put(json_line(line));
}

void record_writer::add(const imported_record& request) {
  const auto bytes = encode_record(relative_to_export(request));
  ordered_json line;
  line["key"] = request.stored.about->key;
  line["state"] = name_of(request.stored.state);
  line["id"] = base::to_hex(request.id);
  line["record"] = base::to_base64(bytes);
  if (request.recovery) {
    line["step"] = request.recovery->step;
    line["progress"] = base::to_base64(request.recovery->progress);
  }
  line["sum"] = sum_of(request.id, bytes, request.recovery);
  put(json_line(line));
  ++count_;
}

void record_writer::finish() {
  ordered_json line;
  line["end"] = count_;
  line["sum"] = base::to_hex(chain_);
  put(json_line(line));
  output_.flush();
}

void record_writer::put(const std::string& line) {
  output_ << line << '\n';
  chain_ = chained(chain_, line);
}

// --- reading --------------------------------------------------------------------------------

error record_reader::wrong(std::string_view description) const {
  return error(errc::invalid_argument,
               "line " + std::to_string(line_) + ": " + std::string(description));
}

/// False if there is no line, or if the line's end is missing.
bool record_reader::take_line() {
  ++line_;
  chain_ = next_chain_;
  if (!std::getline(input_, text_) || input_.eof()) return false;
  next_chain_ = chained(chain_, text_);
  return true;
}

result<export_head> record_reader::head() {
  if (!take_line()) return wrong("this is no file of `onceguard keys export`");
  json reply;
  const bool read = base::parse_unambiguous(text_, reply) == base::json_fault::none;
  const auto version =
      read && reply.is_object() ? member<std::int64_t>(reply, "onceguard_export") : std::nullopt;
  if (!version) return wrong("this is no file of `onceguard keys export`");
  if (*version > format) {
    return wrong("format " + std::to_string(*version) + " is newer than " + std::to_string(format) +
                 ", the newest that this version reads");
  }
  const auto exported_at = member<std::int64_t>(reply, "exported_at_ms");
  auto source = member<std::string>(reply, "store");
  if (!exported_at || !source) return wrong("it does not say when and from where it was exported");
  return export_head{*exported_at, *std::move(source)};
}

result<std::optional<imported_record>> record_reader::next() {
  if (!take_line()) return wrong("the file breaks off: it has no last line, or only a part of it");
  json reply;
  const bool read = base::parse_unambiguous(text_, reply) == base::json_fault::none;
  if (!read || !reply.is_object()) return wrong("it is damaged: no JSON object");
  const auto sum = member<std::string>(reply, "sum");
  if (const auto count = member<std::uint64_t>(reply, "end"); count && sum)
    return end(*count, *sum);
  const auto id_text = member<std::string>(reply, "id");
  const auto record_text = member<std::string>(reply, "record");
  if (!id_text || !record_text || !sum) return wrong("it is damaged: id, record or sum is missing");
  record_id id{};
  const auto bytes = base::from_base64(*record_text);
  if (!base::from_hex(*id_text, id)) return wrong("it is damaged: the id is not 64 hex digits");
  if (!bytes) return wrong("it is damaged: the record is not base64");
  auto recovery = recovery_in(reply);
  if (!recovery) return wrong(recovery.error().detail);
  if (sum_of(id, *bytes, *recovery) != *sum) {
    return wrong("it is damaged: its sum is another one");
  }
  auto stored = decode_record(*bytes);
  if (!stored) return wrong(stored.error().detail);
  if (!stored->about) return wrong("a record without its subject");
  if (auto why = fault_of_id(id, *stored->about); !why.empty()) return wrong(why);
  ++count_;
  auto out = read_relative(id, std::move(*stored));
  out.recovery = std::move(*recovery);
  return std::optional<imported_record>(std::move(out));
}

result<std::optional<imported_record>> record_reader::end(std::uint64_t count,
                                                          std::string_view chain) {
  if (count != count_) {
    return wrong("of " + std::to_string(count) + " records " + std::to_string(count_) +
                 " are here");
  }
  if (base::to_hex(chain_) != chain) {
    return wrong("the sum of all lines is another one: one of them was changed or moved");
  }
  if (input_.peek() != std::istream::traits_type::eof()) {
    ++line_;
    return wrong("something follows the end");
  }
  return std::optional<imported_record>();
}

std::optional<imported_record> aged(imported_record request, milliseconds later) {
  if (request.retention_left.count() != 0) {
    if (request.retention_left <= later) return std::nullopt;
    request.retention_left -= later;
  }
  constexpr milliseconds none{0};
  if (request.retry_after != none)
    request.retry_after = std::max(request.retry_after - later, none);
  request.lease_over = std::max(request.lease_over + later, none);
  request.claimed_ago = std::max(request.claimed_ago + later, none);
  request.settled_ago = std::max(request.settled_ago + later, none);
  return request;
}

}  // namespace onceguard::cli::keys
