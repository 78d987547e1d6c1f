#include "cli/trial/described_head.hpp"

#include <algorithm>
#include <string>

#include "base/field.hpp"

namespace onceguard::cli::trial {
namespace {

/// Whether the serialiser takes all of it. What it does not take no client can send either.
bool can_be_written(const described_request& request) {
  const bool target = !request.target.empty() && http1::is_field_value(request.target) &&
                      request.target.find(' ') == std::string::npos;
  return http1::is_token(request.method) && target &&
         std::all_of(request.fields.begin(), request.fields.end(), [](const auto& field) {
           return http1::is_token(field.first) && http1::is_field_value(field.second);
         });
}

std::string head_text(const described_request& request) {
  std::string out;
  http1::append_request_line(out, request.method, request.target);
  bool has_host = false;
  for (const auto& [name, value] : request.fields) {
    http1::append_field(out, name, value);
    has_host = has_host || base::iequals(name, "host");
  }
  if (!has_host) http1::append_field(out, "Host", "localhost");
  http1::append_end_of_head(out);
  return out;
}

}  // namespace

std::optional<http1::fault> fault_in_head(const config::settings& settings,
                                          const described_request& request) {
  if (!can_be_written(request)) return http1::bad("The head has spaces or control characters.");
  const auto text = head_text(request);
  http1::reader reader(http1::reader::kind::request,
                       http1::limits{.head_bytes_max = settings.gateway.max_header_bytes,
                                     .header_count_max = settings.gateway.max_header_count});
  const auto space = reader.prepare(text.size());
  std::copy(text.begin(), text.end(), space.begin());
  reader.commit(text.size());
  if (reader.next() != http1::progress::error) return std::nullopt;
  return reader.fault();
}

}  // namespace onceguard::cli::trial
