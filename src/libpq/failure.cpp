#include "libpq/failure.hpp"

#include <algorithm>
#include <string_view>

namespace onceguard::postgres {

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

bool standby_wait_cancelled(const PGresult* notice) noexcept {
  // The message is translated; the name of the server's function that sends it is not.
  const char* text = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  return text != nullptr && std::string_view(text) == "SyncRepWaitForLSN";
}

}  // namespace onceguard::postgres
