// Says whether a delivery comes from its sender, and which id it has.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "webhook/delivery.hpp"
#include "webhook/public_key.hpp"
#include "webhook/sender.hpp"

namespace onceguard::webhook {

/// What a route and its sender have agreed on.
struct registration {
  std::vector<std::string> secrets{};  ///< of HMAC
  std::vector<public_key> keys{};      ///< of RSA
  std::vector<std::string> urls{};     ///< of `path`, as the sender may write it; no final slash
  std::string path{"/"};               ///< the route's
  std::string webhook_id{};            ///< what the sender calls this webhook
};

enum class verdict : std::uint8_t {
  genuine,
  forged,   ///< no signature, or none that one of the secrets made
  expired,  ///< a good signature from another time
  no_id,
};

struct finding {
  webhook::verdict verdict = verdict::forged;
  std::string id{};         ///< if genuine or expired; empty if expired: none is certain
  std::string challenge{};  ///< if genuine: what the sender expects back; empty: no challenge
};

/// Immutable.
class verifier {
 public:
  /// Without secrets and keys, nothing is genuine.
  verifier(sender about, registration agreed)
      : about_(std::move(about)), agreed_(std::move(agreed)) {}

  /// The time does not depend on how much of a signature is right.
  [[nodiscard]] finding check(const delivery& arrived) const;
  [[nodiscard]] const std::string& name() const noexcept { return about_.name; }
  [[nodiscard]] const sender& about() const noexcept { return about_; }

 private:
  class webhook_examination;

  sender about_;
  registration agreed_;
};

}  // namespace onceguard::webhook
