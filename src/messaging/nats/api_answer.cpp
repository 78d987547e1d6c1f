#include "messaging/nats/api_answer.hpp"

#include <cstdint>

#include "base/value_text.hpp"
#include "json/tree.hpp"

namespace onceguard::messaging::nats {
namespace {

// Of the server's errors (nats-server, errors.json): no resources, and a stream that has reached
// its limit of messages or bytes and discards new ones.
constexpr double unavailable = 503;
constexpr double store_failed = 10077;

/// The member of an object; null: there is none of this name and kind.
const json_node* member(const json_tree& tree, const json_node* object, std::string_view name,
                        json_kind kind) {
  if (object == nullptr || object->kind != json_kind::object) return nullptr;
  for (std::uint32_t i = 0; i < object->span.size; ++i) {
    const auto child = tree.children[object->span.first + i];
    if (tree.name(child) == name && tree.nodes[child].kind == kind) return &tree.nodes[child];
  }
  return nullptr;
}

/// Null: it is no JSON.
const json_node* read(std::string_view text, json_tree& tree) {
  json_cursor cursor{text};
  return read_json(cursor, tree) && !tree.nodes.empty() ? &tree.nodes.front() : nullptr;
}

int sextet_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    const auto value = sextet_of(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

}  // namespace

std::optional<refused_publication> refusal_in(std::string_view publish_answer) {
  json_tree tree;
  const auto* const root = read(publish_answer, tree);
  if (const auto* const fault = member(tree, root, "error", json_kind::object)) {
    const auto* const words = member(tree, fault, "description", json_kind::string);
    const auto* const status = member(tree, fault, "code", json_kind::number);
    const auto* const kind = member(tree, fault, "err_code", json_kind::number);
    const bool full = (status != nullptr && status->number == unavailable) ||
                      (kind != nullptr && kind->number == store_failed);
    return refused_publication{
        words == nullptr ? "for no reason given" : std::string(tree.text(words->span)), full};
  }
  // Anybody may answer on a subject that no stream takes.
  const auto* const stream = member(tree, root, "stream", json_kind::string);
  const auto* const sequence = member(tree, root, "seq", json_kind::number);
  if (stream != nullptr && sequence != nullptr) return std::nullopt;
  return refused_publication{"the answer is not a stream's: " + base::quoted(publish_answer)};
}

std::optional<std::string> stored_headers_in(std::string_view get_answer) {
  json_tree tree;
  const auto* const root = read(get_answer, tree);
  const auto* const found = member(tree, root, "message", json_kind::object);
  const auto* const headers = member(tree, found, "hdrs", json_kind::string);
  if (headers == nullptr) return std::nullopt;
  return base64_decoded(tree.text(headers->span));
}

std::optional<std::uint64_t> number_in(std::string_view text, std::string_view name) {
  constexpr double most = 9'007'199'254'740'992;  // beyond, not every whole number is one
  json_tree tree;
  const auto* const found = member(tree, read(text, tree), name, json_kind::number);
  if (found == nullptr || !(found->number >= 0 && found->number < most)) return std::nullopt;
  return static_cast<std::uint64_t>(found->number);
}

}  // namespace onceguard::messaging::nats
