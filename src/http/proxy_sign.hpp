// Signs in an answer that a proxy stands between this gateway and the service. Such a proxy may
// have answered in the place of the service, after it had sent the request on.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/field.hpp"

namespace onceguard::http {

/// The sign of a proxy whose own errors may come after it has sent a request on, as text for
/// people: "X-Varnish", "Server: Varnish". Empty: there is none. nginx, HAProxy and Caddy are no
/// such proxies: they answer 503 only while they have sent nothing.
[[nodiscard]] std::string_view proxy_sign(std::span<const base::field> fields) noexcept;

/// Whether the text is the page of a proxy that had nowhere to send a request (HAProxy, Traefik).
[[nodiscard]] bool says_nothing_was_sent(std::string_view body) noexcept;

/// Whether a service names itself in its answers. An answer without a name, of a service that
/// always has one, is somebody else's. Thread-safe; an update that is lost to a concurrent one does
/// no harm.
class server_naming {
 public:
  server_naming() = default;
  server_naming(const server_naming& other) noexcept : seen_(other.seen_.load(relaxed)) {}
  server_naming& operator=(const server_naming& other) noexcept {
    seen_.store(other.seen_.load(relaxed), relaxed);
    return *this;
  }
  ~server_naming() = default;

  /// Only successes are the service's own for sure.
  void note(std::uint16_t status, std::span<const base::field> fields) noexcept;
  /// Whether these fields lack the name that all successes had.
  [[nodiscard]] bool lacks_name(std::span<const base::field> fields) const noexcept;

 private:
  enum class names : std::uint8_t { unseen, always, not_always };
  static constexpr auto relaxed = std::memory_order_relaxed;
  std::atomic<names> seen_{names::unseen};
};

}  // namespace onceguard::http
