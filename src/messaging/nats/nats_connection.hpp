// A connection to one server. It never connects again by itself: nobody would learn what became of
// the calls that libnats buffers meanwhile.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/nats/handles.hpp"
#include "messaging/nats/nats_url.hpp"

namespace onceguard::messaging::nats {

using time_point = base::boot_clock::time_point;

/// Whole milliseconds until then, as libnats takes them: at least one.
[[nodiscard]] std::int64_t remaining(time_point until) noexcept;

class connection {
 public:
  [[nodiscard]] static result<std::unique_ptr<connection>> open(const nats_url& where,
                                                                const broker_params& params);

  [[nodiscard]] natsConnection* raw() const noexcept { return raw_.get(); }
  /// For people.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] milliseconds timeout() const noexcept { return timeout_; }
  [[nodiscard]] time_point deadline() const noexcept { return base::boot_now() + timeout_; }

  /// Why nothing can be done with it any more; nullopt: as far as is known, it works.
  [[nodiscard]] std::optional<error> broken() const;
  /// Sends a request and waits for its reply. NATS_OK comes with a reply.
  [[nodiscard]] natsStatus request(const std::string& subject, const std::string& body,
                                   time_point until, message_handle& reply) const;
  /// The error of a libnats call that failed. `action`: "acknowledge" …
  [[nodiscard]] error failure(natsStatus status, std::string_view action,
                              effect on_broker = effect::none);
  /// "nats://…: " and the text.
  [[nodiscard]] error refusal(errc code, std::string_view text) const;
  /// As broken from now on.
  void give_up(error why) { given_up_ = std::move(why); }

 private:
  connection(connection_handle raw, std::string name, milliseconds timeout)
      : raw_(std::move(raw)), name_(std::move(name)), timeout_(timeout) {}

  const connection_handle raw_;
  const std::string name_;
  const milliseconds timeout_;
  std::optional<error> given_up_;
};

/// A subject that only this process subscribes, and what was sent to it.
class inbox {
 public:
  /// NATS_OK: it may be used.
  [[nodiscard]] natsStatus subscribe(const connection& server, std::string_view below = {});
  /// Without what stands below it.
  [[nodiscard]] std::string subject() const { return name_.get(); }
  /// The next message; NATS_TIMEOUT: there was none until then.
  [[nodiscard]] natsStatus next(time_point until, message_handle& out) const;
  /// From now on, `next` gives what the server had sent so far, and then no NATS_OK any more.
  [[nodiscard]] natsStatus end() const { return natsSubscription_Drain(subscription_.get()); }

 private:
  inbox_handle name_;
  subscription_handle subscription_;
};

}  // namespace onceguard::messaging::nats
