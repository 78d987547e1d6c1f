// The forms in which an error is written for the clients of a known contract.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/policy.hpp>
#include <onceguard/record.hpp>

#include "http/problem.hpp"

namespace onceguard::http {

/// One error, with all that a form may show of it.
struct shown_error {
  problem which = problem::bad_request;
  std::string type;  ///< with the base
  std::uint16_t status = 0;
  std::string_view title;
  std::string_view detail;
  retry_advice advice = retry_advice::no;
};

/// Adds the body and the fields of a form to an answer that has the status.
void write_error(answer& out, error_form form, std::string_view text, const shown_error& error);

/// Why a text can't be one of `error_form::text`; empty: it can. It must be JSON once the
/// placeholders are replaced.
[[nodiscard]] std::string error_text_fault(std::string_view text);

/// The text as the inside of a JSON string. Bytes beyond ASCII are escaped one by one.
void append_json_escaped(std::string& out, std::string_view text);

}  // namespace onceguard::http
