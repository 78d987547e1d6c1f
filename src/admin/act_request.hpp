// What an operator sends with an act on a record: parsed and checked.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/decide.hpp>
#include <onceguard/error.hpp>

namespace onceguard::admin {

enum class act : std::uint8_t {
  release,   ///< it did not take effect: the key is free
  complete,  ///< it took effect
  erase,     ///< forget the record whatever it says, an answer too
};
[[nodiscard]] std::string_view name_of(act which) noexcept;

struct act_request {
  std::string reason;
  bool dry_run = false;
  bool force = false;
  answer_ptr answer;  ///< complete: null if none was given
};

/// Reads the JSON object of a request. The error says which member is wrong.
[[nodiscard]] result<act_request> read_act(std::string_view json, act which);

}  // namespace onceguard::admin
