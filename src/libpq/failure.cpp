#include "libpq/failure.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

namespace onceguard::postgres {
namespace {

/// libpq does not translate its own messages where no locale is set.
bool names_set_up(std::string_view text) noexcept {
  constexpr std::array<std::string_view, 12> parts{
      "certificate verify failed", "does not match host name",   "alert unknown ca",
      "alert bad certificate",     "certificate expired",        "certificate unknown",
      "alert certificate",         "but SSL was required",       "no password supplied",
      "certificate file \"",       "authentication requirement", "private key file"};
  return std::any_of(parts.begin(), parts.end(),
                     [text](std::string_view part) { return text.find(part) != text.npos; });
}

}  // namespace

std::string error_field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string() : text;
}

std::string single_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

failure failure_of(const PGresult* result) {
  failure out;
  out.sqlstate = error_field(result, PG_DIAG_SQLSTATE);
  out.text = single_line(error_field(result, PG_DIAG_MESSAGE_PRIMARY));
  if (const auto hint = error_field(result, PG_DIAG_MESSAGE_HINT); !hint.empty()) {
    out.text += " (" + single_line(hint) + ")";
  }
  if (out.text.empty()) out.text = single_line(PQresultErrorMessage(result));
  if (out.text.find("statement pooling mode") != std::string::npos) {
    out.sqlstate = statement_pooling;
    out.text += "; the pooler must pool by transaction or by session: pool_mode = transaction";
  }
  const auto severity = error_field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  // FATAL and PANIC end the session.
  out.lost = severity != "ERROR";
  return out;
}

failure failure_of(const PGconn* connection) {
  failure out;
  out.text = single_line(PQerrorMessage(connection));
  if (out.text.empty()) out.text = "the connection broke";
  out.lost = true;
  return out;
}

failure failure_to_connect(const PGconn* connection) {
  failure out;
  out.lost = true;
  // A line such as "... failed: FATAL:  28P01: password authentication failed for user \"shop\"".
  // The server translates all but the SQLSTATE, and the names of the fields are libpq's.
  constexpr std::string_view mark = ":  ";
  constexpr std::size_t size_of_state = 5;
  std::istringstream lines(PQerrorMessage(connection));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("LOCATION:")) continue;
    const auto state = line.find(mark) + mark.size();
    const auto end = state + size_of_state;
    if (line.find(mark) != line.npos && line.find(": ", state) == end) {
      out.sqlstate = line.substr(state, size_of_state);
      line.erase(state, size_of_state + 2);
    }
    out.text += (out.text.empty() ? "" : " ") + line;
  }
  out.text = single_line(out.text);
  if (out.text.empty()) out.text = "the connection broke";
  out.set_up = out.sqlstate.empty() && names_set_up(out.text);
  return out;
}

bool standby_wait_cancelled(const PGresult* notice) noexcept {
  // The message is translated; the name of the server's function that sends it is not.
  const char* text = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  return text != nullptr && std::string_view(text) == "SyncRepWaitForLSN";
}

}  // namespace onceguard::postgres
