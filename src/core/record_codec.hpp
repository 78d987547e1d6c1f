// The stored form of a record: docs/formats.md has its bytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard {

/// What this version writes, and the newest that it reads. Format 1 differs in its checksum only.
inline constexpr unsigned char record_format = 2;

/// What of a record can be encoded before the rest of it is known: not by the one thread that
/// everybody waits for, but by that of the caller.
class encoded_parts {
 public:
  encoded_parts() = default;
  /// Either may be null. Large answers are left to encode_record, so that none is there twice.
  explicit encoded_parts(subject_ptr about, answer_ptr kept = nullptr);

 private:
  friend std::string encode_record(const record&, const encoded_parts&);
  friend result<record> decode_record(std::string_view, const encoded_parts&);

  subject_ptr about_;
  std::string subject_;
  answer_ptr kept_;
  std::string answer_;
};

/// Never fails; the same record always gives the same bytes, with whatever parts. Thread-safe.
[[nodiscard]] std::string encode_record(const record& stored, const encoded_parts& parts = {});

/// What is wrong with these bytes, whatever they hold: a newer format, a cut or damaged record.
[[nodiscard]] std::optional<error> damage_of(std::string_view bytes);

/// The reverse. errc::record_unreadable, with a detail that says which, for a newer format, a cut
/// or damaged record (any flipped bit), and a value that no version ever wrote. Where it has the
/// same subject as `parts`, it gets that one instead of a copy. Thread-safe.
[[nodiscard]] result<record> decode_record(std::string_view bytes, const encoded_parts& parts = {});

}  // namespace onceguard
