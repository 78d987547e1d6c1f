// The id of a message, as its sender's form has it.
#pragma once
#include <string>

#include <onceguard/broker.hpp>

#include "consume/consume_params.hpp"

namespace onceguard::consume {

/// An id is text: a number in JSON is taken as it is written canonically. Of an id of several parts
/// no two messages with other parts have the same. errc::invalid_argument: the message has no id;
/// the detail says why, for people: a part of it is missing, is there twice, or holds what ends it.
[[nodiscard]] result<std::string> id_of(const id_rule& rule, const messaging::message& received);

}  // namespace onceguard::consume
