#include "cli/message_flags.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/field.hpp"
#include "http1/message.hpp"

namespace onceguard::cli {
namespace {

std::string field_fault(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == text.npos || !http1::is_token(std::string_view(text).substr(0, colon))) {
    return "expected \"Name: value\"";
  }
  if (!http1::is_field_value(base::trim(std::string_view(text).substr(colon + 1)))) {
    return "a value without control characters was expected";
  }
  return {};
}

}  // namespace

void add_message_flags(const command& command, message_flags& given) {
  command.add_option("-H,--header", given.headers, "A header field, as \"Name: value\"")
      .one_at_a_time()
      .type("FIELD")
      .check(field_fault);
  const auto body = command.add_option("--body", given.body, "The body").type("TEXT");
  command.add_option("--body-file", given.body_file, "The body, from a file")
      .type("FILE")
      .existing_file()
      .excludes(body);
}

std::vector<std::pair<std::string, std::string>> fields_of(const message_flags& given) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (const auto& text : given.headers) {
    const auto colon = text.find(':');
    fields.emplace_back(text.substr(0, colon),
                        base::trim(std::string_view(text).substr(colon + 1)));
  }
  return fields;
}

std::string body_of(const message_flags& given) {
  if (given.body_file.empty()) return given.body;
  std::ifstream file(given.body_file, std::ios::binary);
  std::string body{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) throw std::runtime_error(given.body_file + ": can't be read");
  return body;
}

}  // namespace onceguard::cli
