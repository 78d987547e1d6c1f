// The encoding of records in Redis (docs/redis.md): the parts that clients make, and the whole
// record.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::redis {

/// The format that scripts write and return.
inline constexpr unsigned char stored_format = 1;
/// The format of a first claim that was set without a script. It contains no times. Only scripts
/// read it.
inline constexpr unsigned char undated_format = 2;
/// The least time that a record stays after a write, expired or not (STAYS in lua/01_record.lua).
inline constexpr milliseconds record_stays{60'000};
/// The time to live of a first claim that never expires: a hundred years (FOR_EVER there).
inline constexpr milliseconds for_ever{3'153'600'000'000};
/// The greatest length of a text of a subject.
inline constexpr std::size_t subject_text_max = 65'535;
inline constexpr std::size_t answer_sum_size = 8;

/// Its texts must not be longer than `subject_text_max`.
[[nodiscard]] std::string encode_subject(const subject& about);
[[nodiscard]] std::string encode_answer(const answer& kept);
/// by operator 1, incident 2, maybe repeated 4, earlier unknown 8, by application 16
[[nodiscard]] std::uint8_t flags_of(const record& stored) noexcept;
/// The checksum of the bytes of an answer; zeros if there is no answer.
[[nodiscard]] std::string answer_sum(std::string_view answer_bytes);

/// Appends a first claim as it is set without a script, and its size.
void append_first(std::string& text, const claim& request, token given);
[[nodiscard]] std::size_t size_of_first(const claim& request);
/// The time to live of a first claim, by which the scripts compute the elapsed time of the lease.
[[nodiscard]] milliseconds first_lives(const claim& request);

/// Null for no bytes. errc::record_unreadable.
[[nodiscard]] result<answer_ptr> decode_answer(std::string_view bytes, std::string_view sum);

struct stored_record {
  onceguard::record record;
  token first = 0;  ///< of its first claim: what records are listed by
};
/// The whole of a record, or its head with the head's checksum, which a script has checked.
[[nodiscard]] result<stored_record> decode_stored(std::string_view bytes);
[[nodiscard]] result<stored_record> decode_head(std::string_view bytes);

}  // namespace onceguard::redis
