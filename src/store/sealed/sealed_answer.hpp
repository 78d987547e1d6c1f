// An answer encrypted with AES-256-GCM. docs/encryption.md describes the bytes.
#pragma once
#include <string>
#include <string_view>
#include <type_traits>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>
#include <onceguard/record.hpp>
#include <onceguard/store.hpp>

#include "store/sealed/key_ring.hpp"

namespace onceguard::sealed {

/// What a sealed answer is bound to, besides its format and its status: it opens in no other
/// record. The id stands for scope and key.
struct binding {
  record_id id{};
  onceguard::token token = 0;  ///< of the lease that was settled; 0: an operator gave the answer
};

/// Whether the answer is one that seal() made. Its status stays legible. What marks it can't be a
/// header of HTTP.
[[nodiscard]] bool is_sealed(const answer& kept) noexcept;

/// No initial vector is ever used twice. errc::overloaded: OpenSSL has no memory.
[[nodiscard]] result<answer_ptr> seal(const answer& plain, const binding& bound,
                                      const ring_key& key);

struct opened_answer {
  answer_ptr plain;
  onceguard::token token = 0;  ///< it was bound to
};

/// errc::record_unreadable: its key is not in the ring (null: there is no ring), it was changed, or
/// it is that of another record.
[[nodiscard]] result<opened_answer> open(const answer& kept, const record_id& id,
                                         const key_ring* ring);

[[nodiscard]] bool needs_opening(const answer_ptr& kept);
/// Replaces a sealed answer by the plain one.
[[nodiscard]] result<void> open_if_sealed(answer_ptr& kept, const record_id& id,
                                          const key_ring* ring);
/// The same in a record, which knows the lease that completed it: an answer of an earlier lease is
/// none of its own.
[[nodiscard]] result<void> open_record(record_view& seen, const key_ring* ring);
/// For a list, which may leave answers out.
void open_or_leave_out(record_view& seen, const key_ring* ring);

/// Whether the reason of an error of open() is that the ring lacks the key: it took effect, nothing
/// is lost, and nobody needs to end the record. The admin API hands reasons on as texts.
[[nodiscard]] bool lacks_key(std::string_view why) noexcept;

/// For who uses the reply of a claim or a settle: without a ring, a store gives them as they are,
/// and a sealed answer is an error. `known`: of what the call was to do.
template <class Reply>
void refuse_sealed(result<Reply>& reply, const record_id& id, effect known) {
  if (!reply || !reply->answer || !is_sealed(*reply->answer)) return;
  if constexpr (std::is_same_v<Reply, settled>) {
    // A holder whose settle did not count learns that, with or without the record's answer.
    if (reply->outcome != settle_outcome::done) {
      reply->answer = nullptr;
      reply->kept = answer_kept::none;
      return;
    }
  }
  auto why = open(*reply->answer, id, nullptr).error();
  why.effect = known;
  reply = std::move(why);
}

/// errc::record_unreadable, for those who have no ring at all: applications that claim in their own
/// database sessions.
[[nodiscard]] error not_for_applications(const answer& kept);

}  // namespace onceguard::sealed
