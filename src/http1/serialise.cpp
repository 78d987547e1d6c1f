#include <algorithm>
#include <array>
#include <charconv>

#include "base/octets.hpp"
#include "base/time_text.hpp"
#include "http1/message.hpp"
#include "http1/require.hpp"
#include "http1/start_line.hpp"

namespace onceguard::http1 {
namespace {

template <int Base>
void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits;
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, Base);
  out.append(digits.data(), end);
}

}  // namespace

void append_request_line(std::string& out, std::string_view method, std::string_view target) {
  require(is_token(method), "a request line with a malformed method");
  require(is_target(target), "a request line with a space or a control character in its target");
  out.append(method).append(1, ' ').append(target).append(" HTTP/1.1\r\n");
}

void append_status_line(std::string& out, std::uint16_t status, std::string_view reason) {
  require(status >= 100 && status <= 999, "a status line whose status has not three digits");
  require(is_field_value(reason), "a status line with a control character in its reason");
  if (reason.empty()) reason = reason_of(status);
  out.append("HTTP/1.1 ");
  append_number<10>(out, status);
  out.append(1, ' ').append(reason).append("\r\n");
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  require(is_token(name), "a header field with a malformed name");
  require(is_field_value(value), "a header field with a control character in its value");
  const auto position = out.size();
  out.resize(position + name.size() + 2 + value.size() + 2);  // grows once
  char* target = std::copy(name.begin(), name.end(), out.data() + position);
  *target++ = ':';
  *target++ = ' ';
  target = std::copy(value.begin(), value.end(), target);
  *target++ = '\r';
  *target = '\n';
}

void append_content_length(std::string& out, std::uint64_t length) {
  out.append("Content-Length: ");
  append_number<10>(out, length);
  out.append("\r\n");
}

void append_date(std::string& out, std::int64_t wall_seconds) {
  const auto date = base::http_date(wall_seconds);
  require(!date.empty(), "append_date() of a year that has not four digits");
  out.append("Date: ").append(date).append("\r\n");
}

void append_chunk(std::string& out, std::string_view piece) {
  if (piece.empty()) return;
  append_number<16>(out, piece.size());
  out.append("\r\n").append(piece).append("\r\n");
}

namespace {

struct phrase {
  std::uint16_t status;
  std::string_view reason;
};

// The IANA registry of HTTP status codes, without unused and obsolete codes.
constexpr phrase phrases[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {102, "Processing"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {207, "Multi-Status"},
    {208, "Already Reported"},
    {226, "IM Used"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {305, "Use Proxy"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {423, "Locked"},
    {424, "Failed Dependency"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {506, "Variant Also Negotiates"},
    {507, "Insufficient Storage"},
    {508, "Loop Detected"},
    {511, "Network Authentication Required"},
};

constexpr auto by_status = [] {
  std::array<std::string_view, 600> table;
  table.fill("Unknown");
  for (const auto& row : phrases) table[row.status] = row.reason;
  return table;
}();

}  // namespace

std::string_view reason_of(std::uint16_t status) noexcept {
  return status < by_status.size() ? by_status[status] : by_status[0];
}

}  // namespace onceguard::http1
