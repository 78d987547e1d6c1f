// The id of a message, as its sender's form has it.
#pragma once
#include <optional>
#include <string>

#include <onceguard/broker.hpp>

#include "consume/consume_params.hpp"

namespace onceguard::consume {

/// Nullopt: the message has no such id, or its payload is no JSON. An id is text: a number in JSON
/// is taken as it is written canonically.
[[nodiscard]] std::optional<std::string> id_of(const id_rule& rule,
                                               const messaging::message& received);

}  // namespace onceguard::consume
