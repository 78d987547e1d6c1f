#include "consume/message_id.hpp"

#include "base/hash.hpp"
#include "base/value_text.hpp"
#include "json/scalars.hpp"
#include "json/tree.hpp"

namespace onceguard::consume {
namespace {

/// One token of a JSON Pointer (RFC 6901), unescaped; empty: an escape is malformed.
std::optional<std::string> token_of(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '~') {
      out += text[i];
      continue;
    }
    ++i;
    if (i == text.size() || (text[i] != '0' && text[i] != '1')) return std::nullopt;
    out += text[i] == '0' ? '~' : '/';
  }
  return out;
}

/// The node of the tree that the token names below `parent`; nullopt: there is none.
std::optional<std::uint32_t> child_of(const core::json_tree& tree, std::uint32_t parent,
                                      std::string_view token) {
  const auto& node = tree.nodes[parent];
  if (node.kind != core::json_kind::object && node.kind != core::json_kind::array) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < node.span.size; ++i) {
    const auto child = tree.children[node.span.first + i];
    const bool named = node.kind == core::json_kind::object ? tree.name(child) == token
                                                            : std::to_string(i) == token;
    if (named) return child;
  }
  return std::nullopt;
}

std::optional<std::string> text_at(const core::json_tree& tree, std::string_view pointer) {
  std::uint32_t found = 0;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const auto end = pointer.find('/');
    const auto token = token_of(pointer.substr(0, end));
    const auto child = token ? child_of(tree, found, *token) : std::nullopt;
    if (!child) return std::nullopt;
    found = *child;
    pointer = end == pointer.npos ? std::string_view() : pointer.substr(end);
  }
  const auto& node = tree.nodes[found];
  if (node.kind == core::json_kind::string) return std::string(tree.text(node.span));
  if (node.kind != core::json_kind::number) return std::nullopt;
  std::string out;
  core::append_json_number(out, node.number);
  return out;
}

std::optional<std::string> in_json(std::string_view payload, std::string_view pointer) {
  core::json_cursor cursor{payload};
  core::json_tree tree;
  if (!core::read_json(cursor, tree)) return std::nullopt;
  return text_at(tree, pointer);
}

std::optional<std::string> copied(const std::string* text) {
  return text == nullptr ? std::nullopt : std::optional(*text);
}

std::string pointer_fault(std::string_view pointer) {
  if (!pointer.starts_with('/')) return "a JSON Pointer begins with a slash";
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    const bool broken = pointer[i] == '~' && (i + 1 == pointer.size() ||
                                              (pointer[i + 1] != '0' && pointer[i + 1] != '1'));
    if (broken) return "a JSON Pointer has ~0 for ~ and ~1 for /";
  }
  return {};
}

}  // namespace

result<id_rule> parse_id_rule(std::string_view text) {
  const auto expected = [&](const std::string& more) {
    return error(errc::invalid_argument,
                 "expected \"property:NAME\", \"header:NAME\", \"json:/pointer\" or \"body-hash\", "
                 "got " +
                     base::quoted(text) + more);
  };
  id_rule out;
  if (text == "body-hash") {
    out.source = id_rule::location::body_hash;
    return out;
  }
  const auto colon = text.find(':');
  if (colon == text.npos || colon + 1 == text.size()) return expected("");
  const auto kind = text.substr(0, colon);
  out.name = text.substr(colon + 1);
  if (kind == "property") {
    out.source = id_rule::location::property;
  } else if (kind == "header") {
    out.source = id_rule::location::header;
  } else if (kind == "json") {
    out.source = id_rule::location::json;
    if (const auto fault = pointer_fault(out.name); !fault.empty()) return expected(": " + fault);
  } else {
    return expected("");
  }
  return out;
}

std::optional<std::string> id_of(const id_rule& rule, const messaging::message& received) {
  switch (rule.source) {
    case id_rule::location::property:
      return copied(messaging::property_of(received, rule.name));
    case id_rule::location::header:
      return copied(messaging::header_of(received, rule.name));
    case id_rule::location::json:
      return in_json(received.payload, rule.name);
    case id_rule::location::body_hash:
      return base::to_hex(base::sha256_of(received.payload));
  }
  return std::nullopt;
}

}  // namespace onceguard::consume
