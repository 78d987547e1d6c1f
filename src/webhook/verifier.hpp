// Says whether a delivery comes from its sender, and which id it has.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "webhook/sender.hpp"

namespace onceguard::webhook {

struct delivery {
  std::span<const base::field> fields;  ///< the header
  std::string_view body;
  std::int64_t now = 0;  ///< seconds since 1970
};

enum class verdict : std::uint8_t {
  genuine,
  forged,   ///< no signature, or none that one of the secrets made
  expired,  ///< a good signature from another time
  no_id,
};

struct finding {
  webhook::verdict verdict = verdict::forged;
  std::string id{};         ///< if genuine
  std::string challenge{};  ///< if genuine: what the sender expects back; empty: no challenge
};

/// Immutable.
class verifier {
 public:
  /// Without secrets, nothing is genuine.
  verifier(sender about, std::vector<std::string> secrets)
      : about_(std::move(about)), secrets_(std::move(secrets)) {}

  /// The time does not depend on how much of a signature is right.
  [[nodiscard]] finding check(const delivery& arrived) const;
  [[nodiscard]] const std::string& name() const noexcept { return about_.name; }
  [[nodiscard]] const sender& about() const noexcept { return about_; }

 private:
  [[nodiscard]] bool signed_with_a_secret(std::string_view signatures,
                                          std::string_view content) const;

  sender about_;
  std::vector<std::string> secrets_;
};

}  // namespace onceguard::webhook
