// Browsers that signed in to the page with a token. What their cookie holds is a name of the
// sign-in, so that the token itself is kept by nobody but the person.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

#include "admin/resource.hpp"
#include "base/clock.hpp"

namespace onceguard::admin {

/// Thread-safety: none; the listener's thread alone uses it.
class sign_ins {
 public:
  using instant = base::boot_clock::time_point;

  /// An open page asks each few seconds: this is how long one may be closed, or asleep.
  static constexpr std::chrono::minutes idle_max{30};
  static constexpr std::chrono::hours age_max{12};
  /// One more with a token ends the one with that token that was silent for the longest time.
  static constexpr std::size_t number_max_of_token = 32;
  /// One more ends the one that was silent for the longest time: of viewers, then of operators.
  static constexpr std::size_t number_max = 256;

  /// Begins one for a caller who showed that Authorization field, which grants that. The value for
  /// its cookie; none: only operators are signed in, and nobody else takes the place of one.
  [[nodiscard]] std::optional<std::string> begin(std::string authorization, access granted,
                                                 instant now);
  /// The Authorization field that it stands for; null: there is none, or it is over.
  [[nodiscard]] const std::string* find(std::string_view cookie, instant now);
  void end(std::string_view cookie);

 private:
  struct entry {
    std::string authorization;
    access granted;
    instant begun;
    instant used;
  };

  [[nodiscard]] bool make_room(std::string_view authorization, access granted);

  std::map<digest, entry> entries_;  // by the digest of the cookie's value
};

/// The value of a cookie in a Cookie field (RFC 6265, 4.2.1); empty: it is not there.
[[nodiscard]] std::string_view find_cookie(std::string_view field, std::string_view name) noexcept;

}  // namespace onceguard::admin
