// What the attempts of a request say so far: whether it took effect, may have, or did not.
#pragma once
#include <string_view>

#include <onceguard/client.hpp>

namespace onceguard::client {
inline namespace v1 {

/// What one attempt says by itself.
struct attempt_effect {
  enum class meaning {
    done,      ///< it took effect, and here is its answer
    not_kept,  ///< it took effect, and its answer is not to be had
    nothing,   ///< this attempt did nothing
    in_doubt,  ///< it may have taken effect, by this attempt or by one before
  };
  meaning effect = meaning::in_doubt;
  bool again = false;      ///< the same request is to be sent again
  std::string_view why{};  ///< by which rule
};

/// The table of docs/sending.md. Pure.
[[nodiscard]] attempt_effect read_attempt(const attempt& made);

/// How the sending ends after an attempt that is not followed by another one. `in_doubt`: an
/// earlier attempt may have taken effect. Then nothing that a later one says means that it did not:
/// a refusal is of that attempt alone.
[[nodiscard]] ending ending_of(attempt_effect::meaning last, bool in_doubt) noexcept;

}  // namespace v1
}  // namespace onceguard::client
