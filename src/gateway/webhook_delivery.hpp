// The key of a webhook's delivery.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/broker.hpp>
#include <onceguard/record.hpp>

#include "base/field.hpp"
#include "gateway/routing_table.hpp"
#include "http/admission.hpp"
#include "http/problem.hpp"
#include "http1/message.hpp"

namespace onceguard::webhook {
struct sender;
}

namespace onceguard::gateway {

struct delivery_refusal {
  http::problem problem = http::problem::signature_invalid;
  std::string detail{};      ///< empty: the problem's own
  std::uint16_t status = 0;  ///< 0: the problem's own
};

struct delivery_admission {
  std::optional<delivery_refusal> refusal{};  ///< empty: it is admitted
  std::string challenge{};                    ///< what its sender expects back; empty: no challenge
  /// It is genuine, and refused only because its time is over: if it is done, it gets its answer.
  bool may_be_answered = false;
};

/// Checks who signed the delivery, and gives `admitted` its id as the key, in a scope that is the
/// sender's on this route.
[[nodiscard]] delivery_admission admit_delivery(const route& rule, const http1::head& head,
                                                std::string_view body, http::admission& admitted);

/// The delivery as a message for its queue, under its id.
[[nodiscard]] messaging::message message_of(const webhook::sender& about, const http1::head& head,
                                            std::string body, const std::string& id);

/// The answer that the sender expects of who takes its delivery; with `challenge`, the answer to
/// that.
[[nodiscard]] answer accepted_answer(const webhook::sender& about, std::string challenge);

/// The fields less the Idempotency-Key: nobody signed it, and the service gets the id instead.
[[nodiscard]] std::vector<base::field> fields_without_key(std::span<const base::field> fields);

}  // namespace onceguard::gateway
