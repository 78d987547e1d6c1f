// One request and its answer, for commands. It blocks.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "base/address.hpp"

namespace onceguard::http1 {

struct answer {
  std::uint16_t status = 0;
  std::vector<std::pair<std::string, std::string>> fields;  ///< names and values, as they came
  std::string body;
};

/// Sends the bytes of a request over a connection of its own and reads the final answer, within the
/// timeout. An address where nobody answers is errc::not_found, an answer that can't be read
/// errc::conflict; the effect is unknown once the request may have arrived. Thread-safe.
[[nodiscard]] result<answer> exchange(const base::server_address& address, std::string_view method,
                                      std::string_view request, milliseconds timeout);

}  // namespace onceguard::http1
