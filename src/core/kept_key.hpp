// The form in which keys are kept. With a pepper it is their HMAC, so that neither stores nor lists
// have a key in the clear.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include <onceguard/record.hpp>

namespace onceguard::core {

/// What each kept form begins with.
inline constexpr std::string_view kept_prefix = "hmac-";

/// A secret of the service's own, without which nobody can tell what key a kept form stands for,
/// not by trying keys either.
class key_pepper {
 public:
  explicit key_pepper(std::string secret) : secret_(std::move(secret)) {}

  /// "hmac-" and 43 characters of base64url: a valid key itself. The scope is no part of it, as the
  /// record's id has it: so a key is found without its scope.
  [[nodiscard]] std::string kept(std::string_view key) const;
  /// Tells two peppers apart and says nothing of them.
  [[nodiscard]] digest mark() const;
  friend bool operator==(const key_pepper&, const key_pepper&) = default;

 private:
  std::string secret_;
};

/// From now on, all keys of this process are kept with this pepper; null: in the clear. Not while
/// operations are under way.
void keep_keys_with(std::unique_ptr<const key_pepper> pepper);
/// Null: none. Lives as long as the process.
[[nodiscard]] const key_pepper* pepper_in_use() noexcept;

/// For what a caller sends: the key itself if there is no pepper.
[[nodiscard]] std::string kept_key(std::string_view key);
/// For what an operator gives, who may have a key, or its kept form from a list.
[[nodiscard]] std::string key_to_find(std::string_view text);
/// Whether the text has the form that peppers give to keys.
[[nodiscard]] bool is_kept_form(std::string_view text) noexcept;

}  // namespace onceguard::core
