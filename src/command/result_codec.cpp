// How the result of a command is kept as an answer: status 200, the exit code and the order of the
// streams in headers, and as the body all output as it came.

#include <onceguard/command.hpp>

#include "base/number_in.hpp"
#include "command/collected_output.hpp"

namespace onceguard {
inline namespace v1 {
namespace {

constexpr const char* code_header = "Onceguard-Exit-Code";
constexpr const char* order_header = "Onceguard-Output";  // "out 12, err 5": bytes of each piece
constexpr const char* size_header = "Onceguard-Output-Size";
constexpr const char* file_header = "Onceguard-Output-File";

template <class Number>
bool parse(std::string_view text, Number& value) {
  const auto read = base::number_in<Number>(text);
  if (read) value = *read;
  return read.has_value();
}

const std::string* find(const answer& stored, std::string_view name) {
  for (const auto& [field, value] : stored.headers) {
    if (field == name) return &value;
  }
  return nullptr;
}

/// Cuts the body into pieces. False: the order does not fit the body.
bool cut(std::string_view order, std::string_view body, std::vector<output_piece>& out) {
  while (!order.empty()) {
    const auto comma = order.find(", ");
    const auto piece = order.substr(0, comma);
    order.remove_prefix(comma == order.npos ? order.size() : comma + 2);
    std::size_t size = 0;
    const bool is_err = piece.starts_with("err ");
    if (!is_err && !piece.starts_with("out ")) return false;
    if (!parse(piece.substr(4), size) || size > body.size()) return false;
    append(out, is_err ? output_stream::err : output_stream::out, body.substr(0, size));
    body.remove_prefix(size);
  }
  return body.empty();
}

}  // namespace

answer codec<command_result>::encode(const command_result& value) {
  answer out;
  out.status = 200;
  out.headers.emplace_back(code_header, std::to_string(value.exit_code));
  std::string order;
  for (const auto& piece : value.output) {
    if (!order.empty()) order += ", ";
    order += (piece.stream == output_stream::err ? "err " : "out ");
    order += std::to_string(piece.bytes.size());
    out.body += piece.bytes;
  }
  if (!order.empty()) out.headers.emplace_back(order_header, std::move(order));
  if (value.output_size != out.body.size()) {
    out.headers.emplace_back(size_header, std::to_string(value.output_size));
  }
  if (!value.output_file.empty()) out.headers.emplace_back(file_header, value.output_file);
  return out;
}

result<command_result> codec<command_result>::decode(const answer& stored) {
  command_result out;
  const auto refuse = [](const char* why) {
    return error(errc::record_unreadable,
                 std::string("the stored answer is none of a command: ") + why);
  };
  const auto* const code = find(stored, code_header);
  if (code == nullptr && stored.status >= 200 && stored.status < 300) {
    // Of an operator, or of another program: it took effect, and the body is all that is known.
    append(out.output, output_stream::out, stored.body);
    out.output_size = stored.body.size();
    return out;
  }
  if (code == nullptr) return refuse("no exit code");
  if (!parse(*code, out.exit_code)) return refuse("its exit code is no number");
  const auto* const order = find(stored, order_header);
  if (!cut(order == nullptr ? std::string_view() : *order, stored.body, out.output)) {
    return refuse("the order of its output does not fit its size");
  }
  out.output_size = stored.body.size();
  const auto* const size = find(stored, size_header);
  if (size != nullptr && !parse(*size, out.output_size)) return refuse("its size is no number");
  if (const auto* const file = find(stored, file_header)) out.output_file = *file;
  return out;
}

}  // namespace v1
}  // namespace onceguard
