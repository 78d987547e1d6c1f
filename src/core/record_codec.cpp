#include "core/record_codec.hpp"

#include <concepts>
#include <cstring>

#include "base/hash.hpp"

namespace onceguard {
namespace {

constexpr std::size_t checksum_size = 8;
constexpr std::size_t varint_size_max = 10;
constexpr std::size_t part_max = 1'024;  // of an answer's body: no memory budget counts this copy

// The bits of the flags byte. Stored: never renumber.
constexpr std::uint8_t flag_about = 1;
constexpr std::uint8_t flag_answer = 2;
constexpr std::uint8_t flag_by_operator = 4;
constexpr std::uint8_t flag_incident = 8;
constexpr std::uint8_t flag_maybe_repeated = 16;
constexpr std::uint8_t flag_earlier_unknown = 32;
constexpr std::uint8_t flag_by_application = 64;
constexpr std::uint8_t flags_known = 127;

class byte_writer {
 public:
  explicit byte_writer(std::size_t expected) { out_.reserve(expected); }

  void byte(std::uint8_t value) { out_ += static_cast<char>(value); }
  void fixed64(std::uint64_t value) {
    char bytes[8];
    for (char& b : bytes) b = static_cast<char>(value & 0xff), value >>= 8;
    out_.append(bytes, sizeof bytes);
  }
  void time(std::int64_t value) { fixed64(static_cast<std::uint64_t>(value)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void raw(std::string_view bytes) { out_.append(bytes); }
  void text(std::string_view value) { varint(value.size()), raw(value); }
  template <std::size_t N>
  void bytes(const std::array<unsigned char, N>& value) {
    raw(base::as_chars(value));
  }

  [[nodiscard]] std::string finish() { return std::move(out_); }
  [[nodiscard]] std::string finish_with_checksum() {
    fixed64(base::checksum_of(out_));
    return finish();
  }

 private:
  std::string out_;
};

/// Reads until the first error; from then on all results are zero and `ok` is false.
class byte_reader {
 public:
  explicit byte_reader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] bool at_end() const noexcept { return ok_ && rest_.empty(); }
  [[nodiscard]] std::size_t left() const noexcept { return rest_.size(); }
  void refuse() noexcept { ok_ = false, rest_ = {}; }

  /// Skips `expected` if it comes next; false if other bytes come next.
  bool take(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  std::string_view raw(std::uint64_t size) {
    if (size > rest_.size()) return refuse(), std::string_view{};
    const auto out = rest_.substr(0, static_cast<std::size_t>(size));
    rest_.remove_prefix(out.size());
    return out;
  }
  std::uint8_t byte() {
    const auto one = raw(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one.front());
  }
  std::uint64_t fixed64() {
    const auto eight = raw(8);
    std::uint64_t out = 0;
    for (std::size_t i = eight.size(); i-- > 0;) {
      out = out << 8 | static_cast<unsigned char>(eight[i]);
    }
    return out;
  }
  std::int64_t time() { return static_cast<std::int64_t>(fixed64()); }
  std::uint64_t varint() {
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < varint_size_max; ++i) {
      const std::uint8_t b = byte();
      // One encoding per number: no zero byte at the end, no value above 64 bits.
      if ((b == 0 && i > 0) || (i == varint_size_max - 1 && b > 1)) break;
      out |= static_cast<std::uint64_t>(b & 0x7f) << (7 * i);
      if (b < 0x80) return out;
    }
    refuse();
    return 0;
  }
  template <std::unsigned_integral T>
  T number() {
    const auto value = varint();
    if (value > std::numeric_limits<T>::max()) refuse();
    return ok_ ? static_cast<T>(value) : T{0};
  }
  std::string text() { return std::string(raw(varint())); }
  template <std::size_t N>
  void bytes(std::array<unsigned char, N>& out) {
    const auto source = raw(N);
    if (source.size() == N) std::memcpy(out.data(), source.data(), N);
  }
  template <class Enum>
  Enum choice(Enum lowest, Enum highest) {
    const auto value = byte();
    if (value < static_cast<std::uint8_t>(lowest) || value > static_cast<std::uint8_t>(highest)) {
      refuse();
      return lowest;
    }
    return static_cast<Enum>(value);
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// Fails to compile when the number of a record's members changes: a new member must be stored too.
[[maybe_unused]] void has_all_members(const record& r) {
  [[maybe_unused]] const auto& [about, state, token, claim_id, attempt, deadline, retry_at, claimed,
                                settled, expires, unknown_retention, why, why_status, kept, answer,
                                failures, by_operator, incident, maybe_repeated, earlier_unknown,
                                by_application] = r;
}

std::uint8_t flags_of(const record& r) noexcept {
  return static_cast<std::uint8_t>((r.about ? flag_about : 0) | (r.answer ? flag_answer : 0) |
                                   (r.by_operator ? flag_by_operator : 0) |
                                   (r.incident ? flag_incident : 0) |
                                   (r.maybe_repeated ? flag_maybe_repeated : 0) |
                                   (r.earlier_unknown ? flag_earlier_unknown : 0) |
                                   (r.by_application ? flag_by_application : 0));
}

void write_subject(byte_writer& out, const subject& about) {
  out.bytes(about.scope);
  out.text(about.scope_kind);
  out.text(about.key);
  out.text(about.method);
  out.text(about.path);
  out.text(about.route);
  out.text(about.print.method);
  out.bytes(about.print.value);
  out.time(about.run_timeout.count());
}

subject_ptr read_subject(byte_reader& reader) {
  auto about = std::make_shared<subject>();
  reader.bytes(about->scope);
  about->scope_kind = reader.text();
  about->key = reader.text();
  about->method = reader.text();
  about->path = reader.text();
  about->route = reader.text();
  about->print.method = reader.text();
  reader.bytes(about->print.value);
  about->run_timeout = milliseconds(reader.time());
  return about;
}

void write_answer(byte_writer& out, const answer& kept) {
  out.varint(kept.status);
  out.varint(kept.headers.size());
  for (const auto& [name, value] : kept.headers) out.text(name), out.text(value);
  out.text(kept.body);
}

answer_ptr read_answer(byte_reader& reader) {
  auto kept = std::make_shared<answer>();
  kept->status = reader.number<std::uint16_t>();
  const auto headers = reader.varint();
  // A header takes at least two bytes, so a larger count is invalid.
  if (headers > reader.left() / 2) reader.refuse();
  for (std::uint64_t i = 0; i < headers && reader.ok(); ++i) {
    auto name = reader.text();
    kept->headers.emplace_back(std::move(name), reader.text());
  }
  kept->body = reader.text();
  return kept;
}

std::size_t expected_size(const subject& a) noexcept {
  return 96 + a.scope_kind.size() + a.key.size() + a.method.size() + a.path.size() +
         a.route.size() + a.print.method.size();
}

std::size_t expected_size(const answer& kept) noexcept {
  std::size_t size = 24 + kept.body.size();
  for (const auto& [name, value] : kept.headers) size += 8 + name.size() + value.size();
  return size;
}

/// Whether the checksum matches.
bool whole(unsigned char format, std::string_view content, std::string_view sum) {
  if (format == 1) {
    const auto made = base::sha256_of(content);
    return base::as_chars(made).substr(0, checksum_size) == sum;
  }
  return byte_reader(sum).fixed64() == base::checksum_of(content);
}

error unreadable(std::string detail) {
  return error(errc::record_unreadable, "stored record: " + std::move(detail));
}

template <class Part>
result<Part> read_whole(std::string_view bytes, Part (*read)(byte_reader&)) {
  byte_reader reader(bytes);
  auto out = read(reader);
  if (!reader.at_end()) return unreadable("its fields do not fit together");
  return out;
}

}  // namespace

std::string encode_subject(const subject& about) {
  byte_writer out(expected_size(about));
  write_subject(out, about);
  return out.finish();
}

std::string encode_answer(const answer& kept) {
  byte_writer out(expected_size(kept));
  write_answer(out, kept);
  return out.finish();
}

result<subject_ptr> decode_subject(std::string_view bytes) {
  return read_whole<subject_ptr>(bytes, read_subject);
}

result<answer_ptr> decode_answer(std::string_view bytes) {
  return read_whole<answer_ptr>(bytes, read_answer);
}

encoded_parts::encoded_parts(subject_ptr about, answer_ptr kept) {
  if (about) {
    subject_ = encode_subject(*about);
    about_ = std::move(about);
  }
  if (kept && kept->body.size() <= part_max) {
    answer_ = encode_answer(*kept);
    kept_ = std::move(kept);
  }
}

std::string encode_record(const record& r, const encoded_parts& parts) {
  const bool has_subject = parts.about_ && r.about == parts.about_;
  const bool has_answer = parts.kept_ && r.answer == parts.kept_;
  // Don't read the parts that are encoded already: their data may be in another core's cache.
  std::size_t size = 96 + checksum_size + parts.subject_.size() + parts.answer_.size();
  if (r.about && !has_subject) size += expected_size(*r.about);
  if (r.answer && !has_answer) size += expected_size(*r.answer);
  byte_writer out(size);
  out.byte(record_format);
  out.byte(static_cast<std::uint8_t>(r.state));
  out.byte(flags_of(r));
  out.byte(static_cast<std::uint8_t>(r.why));
  out.byte(static_cast<std::uint8_t>(r.kept));
  out.fixed64(r.token);
  out.bytes(r.claim_id);
  out.varint(r.attempt);
  out.varint(r.failures);
  out.varint(r.why_status);
  out.time(r.deadline_lease);
  out.time(r.retry_at_lease);
  out.time(r.claimed_at_wall);
  out.time(r.settled_at_wall);
  out.time(r.expires_at_wall);
  out.time(r.unknown_retention_ms);
  if (has_subject) {
    out.raw(parts.subject_);
  } else if (r.about) {
    write_subject(out, *r.about);
  }
  if (has_answer) {
    out.raw(parts.answer_);
  } else if (r.answer) {
    write_answer(out, *r.answer);
  }
  return out.finish_with_checksum();
}

std::optional<error> damage_of(std::string_view bytes) {
  if (bytes.empty()) return unreadable("it is empty");
  const auto format = static_cast<unsigned char>(bytes.front());
  if (format > record_format) {
    return unreadable("format " + std::to_string(format) + " is newer than " +
                      std::to_string(record_format) + ", the newest that this version reads");
  }
  if (format == 0) return unreadable("format 0 does not exist: it is damaged");
  if (bytes.size() <= checksum_size) return unreadable("it is cut short");
  const auto content = bytes.substr(0, bytes.size() - checksum_size);
  if (!whole(format, content, bytes.substr(content.size()))) {
    return unreadable("its checksum is wrong: it is damaged or cut short");
  }
  return std::nullopt;
}

result<record> decode_record(std::string_view bytes, const encoded_parts& parts) {
  if (auto wrong = damage_of(bytes)) return std::move(*wrong);
  byte_reader reader(bytes.substr(1, bytes.size() - checksum_size - 1));
  record r;
  r.state = reader.choice(record_state::started, record_state::released);
  const auto flags = reader.byte();
  r.why = reader.choice(unknown_reason::none, unknown_reason::probe_inconclusive);
  r.kept = reader.choice(answer_kept::full, answer_kept::none);
  r.token = reader.fixed64();
  reader.bytes(r.claim_id);
  r.attempt = reader.number<std::uint32_t>();
  r.failures = reader.number<std::uint32_t>();
  r.why_status = reader.number<std::uint16_t>();
  r.deadline_lease = reader.time();
  r.retry_at_lease = reader.time();
  r.claimed_at_wall = reader.time();
  r.settled_at_wall = reader.time();
  r.expires_at_wall = reader.time();
  r.unknown_retention_ms = reader.time();
  // What a flag of another version means may forbid a run: it is an error, never ignored.
  if ((flags & ~flags_known) != 0) reader.refuse();
  if ((flags & flag_about) != 0) {
    const bool same = parts.about_ && reader.take(parts.subject_);
    r.about = same ? parts.about_ : read_subject(reader);
  }
  if ((flags & flag_answer) != 0) r.answer = read_answer(reader);
  r.by_operator = (flags & flag_by_operator) != 0;
  r.incident = (flags & flag_incident) != 0;
  r.maybe_repeated = (flags & flag_maybe_repeated) != 0;
  r.earlier_unknown = (flags & flag_earlier_unknown) != 0;
  r.by_application = (flags & flag_by_application) != 0;
  if (!reader.at_end()) return unreadable("its fields do not fit together");
  return r;
}

}  // namespace onceguard
