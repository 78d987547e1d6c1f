// The stored form of a record. docs/formats.md describes the bytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

/// The format that this version writes, and the newest that it reads. Format 1 differs only in its
/// checksum.
inline constexpr unsigned char record_format = 2;

/// The parts of a record that can be encoded in advance, on the caller's thread instead of the one
/// thread that all callers share.
class encoded_parts {
 public:
  encoded_parts() = default;
  /// Either may be null. Large answers are left to encode_record, to avoid a second copy.
  explicit encoded_parts(subject_ptr about, answer_ptr kept = nullptr);

 private:
  friend std::string encode_record(const record&, const encoded_parts&);
  friend result<record> decode_record(std::string_view, const encoded_parts&);

  subject_ptr about_;
  std::string subject_;
  answer_ptr kept_;
  std::string answer_;
};

/// Never fails. The same record gives the same bytes, whether or not parts are given. Thread-safe.
[[nodiscard]] std::string encode_record(const record& stored, const encoded_parts& parts = {});

/// Why these bytes can't be a record of a known format: a newer format, a cut or damaged record.
/// Does not check the contents.
[[nodiscard]] std::optional<error> damage_of(std::string_view bytes);

/// Decodes a record. Fails with errc::record_unreadable, and a detail with the reason, for a newer
/// format, a cut or damaged record (any flipped bit), and for values that no version has ever
/// written. If the subject equals that of `parts`, the record shares it instead of copying.
/// Thread-safe.
[[nodiscard]] result<record> decode_record(std::string_view bytes, const encoded_parts& parts = {});

// The parts of a record by themselves, without a format and a checksum: for stores that keep the
// other fields in columns. Decoding fails with errc::record_unreadable, also for bytes left over.
[[nodiscard]] std::string encode_subject(const subject& about);
[[nodiscard]] std::string encode_answer(const answer& kept);
[[nodiscard]] result<subject_ptr> decode_subject(std::string_view bytes);
[[nodiscard]] result<answer_ptr> decode_answer(std::string_view bytes);

}  // namespace onceguard
