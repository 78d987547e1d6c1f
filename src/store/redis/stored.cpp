#include "store/redis/stored.hpp"

#include <concepts>
#include <cstring>

#include "base/hash.hpp"

namespace onceguard::redis {
namespace {

constexpr std::size_t head_sum_size = 16;

constexpr std::uint8_t flag_by_operator = 1;
constexpr std::uint8_t flag_incident = 2;
constexpr std::uint8_t flag_maybe_repeated = 4;
constexpr std::uint8_t flag_earlier_unknown = 8;
constexpr std::uint8_t flag_by_application = 16;

template <std::integral Number>
void put(std::string& text, Number value) {
  auto rest = static_cast<std::uint64_t>(value);
  std::array<char, sizeof(Number)> bytes;
  for (auto& byte : bytes) {
    byte = static_cast<char>(rest & 0xff);
    rest >>= 8;
  }
  text.append(bytes.data(), bytes.size());
}

template <class Size>
void put_text(std::string& out_text, std::string_view text) {
  put(out_text, static_cast<Size>(text.size()));
  out_text += text;
}

/// Reads until something does not fit; then everything is zero and `ok` is false.
class fields {
 public:
  explicit fields(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

  std::string_view raw(std::size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }
  template <std::integral Number>
  Number take() {
    std::uint64_t out = 0;
    const auto bytes = raw(sizeof(Number));
    for (std::size_t i = bytes.size(); i-- > 0;) {
      out = out << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return static_cast<Number>(out);
  }
  template <class Size>
  std::string text() {
    return std::string(raw(take<Size>()));
  }
  template <std::size_t N>
  void take_into(std::array<unsigned char, N>& out) {
    const auto source = raw(N);
    if (source.size() == N) std::memcpy(out.data(), source.data(), N);
  }
  template <class Enum>
  Enum choice(Enum lowest, Enum highest) {
    const auto value = take<std::uint8_t>();
    if (value < static_cast<std::uint8_t>(lowest) || value > static_cast<std::uint8_t>(highest)) {
      ok_ = false;
      return lowest;
    }
    return static_cast<Enum>(value);
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

error unreadable(const char* why) {
  return error(errc::record_unreadable, std::string("stored record: ") + why);
}

subject_ptr read_subject(fields& fields) {
  auto about = std::make_shared<subject>();
  fields.take_into(about->print.value);
  about->print.method = fields.text<std::uint16_t>();
  about->run_timeout = milliseconds(fields.take<std::int64_t>());
  fields.take_into(about->scope);
  about->scope_kind = fields.text<std::uint16_t>();
  about->key = fields.text<std::uint16_t>();
  about->method = fields.text<std::uint16_t>();
  about->path = fields.text<std::uint16_t>();
  about->route = fields.text<std::uint16_t>();
  return about;
}

struct answer_slot {
  std::size_t size = 0;
  std::string_view sum;
};

/// Reads the head after its format and size.
stored_record read_head(fields& fields, answer_slot& slot) {
  stored_record out;
  auto& r = out.record;
  r.state = fields.choice(record_state::started, record_state::released);
  const auto flags = fields.take<std::uint8_t>();
  r.why = fields.choice(unknown_reason::none, unknown_reason::probe_inconclusive);
  r.kept = fields.choice(answer_kept::full, answer_kept::none);
  r.why_status = fields.take<std::uint16_t>();
  r.attempt = fields.take<std::uint32_t>();
  r.failures = fields.take<std::uint32_t>();
  r.token = fields.take<token>();
  fields.take_into(r.claim_id);
  out.first = fields.take<token>();
  r.deadline_lease = fields.take<std::int64_t>();
  r.retry_at_lease = fields.take<std::int64_t>();
  r.claimed_at_wall = fields.take<std::int64_t>();
  r.settled_at_wall = fields.take<std::int64_t>();
  r.expires_at_wall = fields.take<std::int64_t>();
  r.unknown_retention_ms = fields.take<std::int64_t>();
  slot.size = fields.take<std::uint32_t>();
  slot.sum = fields.raw(answer_sum_size);
  r.about = read_subject(fields);
  r.by_operator = (flags & flag_by_operator) != 0;
  r.incident = (flags & flag_incident) != 0;
  r.maybe_repeated = (flags & flag_maybe_repeated) != 0;
  r.earlier_unknown = (flags & flag_earlier_unknown) != 0;
  r.by_application = (flags & flag_by_application) != 0;
  return out;
}

/// Reads the head and its checksum, and removes them from `bytes`.
result<stored_record> take_head(std::string_view& bytes, answer_slot& slot) {
  fields whole(bytes);
  const auto format = whole.take<std::uint8_t>();
  const auto size = whole.take<std::uint32_t>();
  if (!whole.ok() || format != stored_format || size > bytes.size() ||
      bytes.size() - size < head_sum_size) {
    return unreadable("its format is another one, or it is cut short");
  }
  fields head(bytes.substr(0, size));
  head.raw(sizeof format + sizeof size);
  auto out = read_head(head, slot);
  if (!head.ok() || !head.rest().empty()) return unreadable("its fields do not fit together");
  bytes.remove_prefix(size + head_sum_size);
  return out;
}

/// The size of the head of a record with this subject, without the checksum.
std::size_t head_size(const subject& about) {
  constexpr std::size_t fixed = 111;
  std::size_t out = fixed + about.print.value.size() + sizeof(std::int64_t) + about.scope.size();
  for (const auto* text : {&about.print.method, &about.scope_kind, &about.key, &about.method,
                           &about.path, &about.route}) {
    out += sizeof(std::uint16_t) + text->size();
  }
  return out;
}

void put_subject(std::string& out_text, const subject& about) {
  out_text += base::as_chars(about.print.value);
  put_text<std::uint16_t>(out_text, about.print.method);
  put(out_text, static_cast<std::int64_t>(about.run_timeout.count()));
  out_text += base::as_chars(about.scope);
  for (const auto* text :
       {&about.scope_kind, &about.key, &about.method, &about.path, &about.route}) {
    put_text<std::uint16_t>(out_text, *text);
  }
}

}  // namespace

std::string encode_subject(const subject& about) {
  std::string out;
  out.reserve(128 + about.key.size() + about.path.size() + about.route.size());
  put_subject(out, about);
  return out;
}

milliseconds first_lives(const claim& request) {
  const bool never_ends = request.unknown_retention.count() == 0;
  return request.lease + (never_ends ? for_ever : request.unknown_retention);
}

std::size_t size_of_first(const claim& request) {
  return head_size(*request.about) + head_sum_size;
}

void append_first(std::string& text, const claim& request, token given) {
  const auto begin = text.size();
  const auto state = request.into_started ? record_state::started : record_state::in_progress;
  put(text, undated_format);
  put(text, static_cast<std::uint32_t>(head_size(*request.about)));
  put(text, static_cast<std::uint8_t>(state));
  put(text, request.maybe_repeated ? flag_maybe_repeated : std::uint8_t{0});
  put(text, static_cast<std::uint8_t>(unknown_reason::none));
  put(text, static_cast<std::uint8_t>(answer_kept::none));
  put(text, std::uint16_t{0});  // status
  put(text, std::uint32_t{1});  // attempt
  put(text, std::uint32_t{0});  // failures
  put(text, given);
  text += base::as_chars(request.claim_id);
  put(text, given);
  put(text, std::int64_t{request.lease.count()});
  text.append(4 * sizeof(std::int64_t), '\0');  // points in time
  put(text, std::int64_t{request.unknown_retention.count()});
  put(text, std::uint32_t{0});  // the size of the answer
  text.append(answer_sum_size, '\0');
  put_subject(text, *request.about);
  const auto sum = base::sha1_of(std::string_view(text).substr(begin));
  text += base::to_hex(std::span(sum).first<head_sum_size / 2>());
}

std::uint8_t flags_of(const record& stored) noexcept {
  return static_cast<std::uint8_t>((stored.by_operator ? flag_by_operator : 0) |
                                   (stored.incident ? flag_incident : 0) |
                                   (stored.maybe_repeated ? flag_maybe_repeated : 0) |
                                   (stored.earlier_unknown ? flag_earlier_unknown : 0) |
                                   (stored.by_application ? flag_by_application : 0));
}

std::string encode_answer(const answer& kept) {
  std::string out;
  std::size_t size = 6 + kept.body.size();
  for (const auto& [name, value] : kept.headers) size += 8 + name.size() + value.size();
  out.reserve(size);
  put(out, kept.status);
  put(out, static_cast<std::uint32_t>(kept.headers.size()));
  for (const auto& [name, value] : kept.headers) {
    put_text<std::uint32_t>(out, name);
    put_text<std::uint32_t>(out, value);
  }
  return out += kept.body;
}

std::string answer_sum(std::string_view answer_bytes) {
  if (answer_bytes.empty()) return std::string(answer_sum_size, '\0');
  const auto sum = base::sha256_of(answer_bytes);
  return std::string(base::as_chars(sum).substr(0, answer_sum_size));
}

result<answer_ptr> decode_answer(std::string_view bytes, std::string_view sum) {
  if (answer_sum(bytes) != sum) {
    return unreadable("the checksum of its answer is wrong: it is damaged or cut short");
  }
  if (bytes.empty()) return answer_ptr();
  fields fields(bytes);
  auto out = std::make_shared<answer>();
  out->status = fields.take<std::uint16_t>();
  const auto headers = fields.take<std::uint32_t>();
  for (std::uint32_t i = 0; i < headers && fields.ok(); ++i) {
    auto name = fields.text<std::uint32_t>();
    out->headers.emplace_back(std::move(name), fields.text<std::uint32_t>());
  }
  out->body = fields.rest();
  if (!fields.ok()) return unreadable("its answer does not fit together");
  return answer_ptr(std::move(out));
}

result<stored_record> decode_head(std::string_view bytes) {
  answer_slot slot;
  return take_head(bytes, slot);
}

result<stored_record> decode_stored(std::string_view bytes) {
  answer_slot slot;
  auto out = take_head(bytes, slot);
  if (!out) return out;
  if (bytes.size() != slot.size) return unreadable("its answer is cut short");
  auto kept = decode_answer(bytes, slot.sum);
  if (!kept) return kept.error();
  out->record.answer = std::move(*kept);
  return out;
}

}  // namespace onceguard::redis
