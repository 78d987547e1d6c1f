// What a customer of the demo gets for a payment.
#pragma once
#include <cstdint>
#include <string>

#include "demo/wire.hpp"

namespace onceguard::demo {

/// The reply as the customer sees it.
struct reply {
  bool lost = false;  ///< no answer: `message` is empty
  demo::message message;

  [[nodiscard]] std::uint16_t status() const { return message.status; }
  [[nodiscard]] bool replayed() const;
  /// The last part of a problem's `type` ("in-progress"), or empty.
  [[nodiscard]] std::string problem() const;
  /// "201", "201 (replayed)", "409 in-progress", "no answer".
  [[nodiscard]] std::string in_words() const;
};

[[nodiscard]] reply no_answer();

}  // namespace onceguard::demo
