#include "json/selected_json.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/octets.hpp"
#include "json/pointer.hpp"
#include "json/scalars.hpp"
#include "json/tree.hpp"

namespace onceguard {
namespace {

constexpr std::string_view redacted_text = "[redacted]";

/// What is done with a value.
enum class treatment : std::uint8_t {
  dropped,   ///< it was not picked
  opened,    ///< something in it was picked
  whole,     ///< it stays
  replaced,  ///< it is redacted
};

class selection {
 public:
  selection(const json_tree& tree, const json_selection_rules& rules, std::size_t longest)
      : tree_(tree),
        treatments_(tree.nodes.size(),
                    rules.picked.empty() ? treatment::whole : treatment::dropped),
        longest_(longest) {
    if (!rules.picked.empty()) treatments_.front() = treatment::opened;
    for (const auto& pointer : rules.picked) pick(0, pointer);
    for (const auto& pointer : rules.redacted) {
      each_target(0, pointer,
                  [&](std::uint32_t position) { treatments_[position] = treatment::replaced; });
    }
  }

  [[nodiscard]] std::optional<selected_json> written() {
    write(0);
    if (out_.text.size() > longest_) return std::nullopt;
    return std::move(out_);
  }

 private:
  /// Calls `visit(child, rest)` for each child that the first segment of the pointer names.
  template <class Visit>
  void each_step(std::uint32_t position, std::string_view pointer, const Visit& visit) const {
    const auto& node = tree_.nodes[position];
    const auto end = std::min(pointer.find('/', 1), pointer.size());
    const auto segment = pointer.substr(0, end);
    const auto rest = pointer.substr(end);
    if (segment != "/*") {
      if (const auto child = find_child(tree_, position, segment.substr(1))) visit(*child, rest);
      return;
    }
    if (node.kind != json_kind::array && node.kind != json_kind::object) return;
    for (std::uint32_t i = 0; i < node.span.size; ++i) {
      visit(tree_.children[node.span.first + i], rest);
    }
  }

  /// Also what is in the way of the pointer, a text for an object or a list for one: the secret may
  /// stand in it.
  template <class Visit>
  void each_target(std::uint32_t position, std::string_view pointer, const Visit& visit) const {
    if (pointer.empty()) return visit(position);
    const auto kind = tree_.nodes[position].kind;
    const bool number = pointer.size() > 1 && (pointer[1] == '*' || base::is_digit(pointer[1]));
    if (kind != json_kind::object && !(kind == json_kind::array && number)) return visit(position);
    each_step(position, pointer,
              [&](std::uint32_t child, std::string_view rest) { each_target(child, rest, visit); });
  }

  /// True: there is a value at the pointer.
  bool pick(std::uint32_t position, std::string_view pointer) {
    if (pointer.empty()) {
      for (auto each = position; each < tree_.nodes[position].end; ++each) {
        treatments_[each] = treatment::whole;
      }
      return true;
    }
    bool found = false;
    each_step(position, pointer, [&](std::uint32_t child, std::string_view rest) {
      found = pick(child, rest) || found;
    });
    if (found && treatments_[position] == treatment::dropped)
      treatments_[position] = treatment::opened;
    return found;
  }

  /// Recursive: the reader has limited the nesting.
  void write(std::uint32_t position) {
    if (out_.text.size() > longest_) return;
    const auto& node = tree_.nodes[position];
    auto& text = out_.text;
    if (treatments_[position] == treatment::replaced) return replace(node);
    const bool open = treatments_[position] == treatment::opened;
    const bool container = node.kind == json_kind::array || node.kind == json_kind::object;
    if (treatments_[position] == treatment::dropped || (open && !container)) {
      out_.changed = out_.changed || node.kind != json_kind::null;
      text += "null";
      return;
    }
    switch (node.kind) {
      case json_kind::null:
        text += "null";
        break;
      case json_kind::no:
        text += "false";
        break;
      case json_kind::yes:
        text += "true";
        break;
      case json_kind::number:
        text += tree_.text(node.span);
        break;
      case json_kind::string:
        append_json_string(text, tree_.text(node.span));
        break;
      case json_kind::array:
      case json_kind::object:
        write_members(position);
        break;
    }
  }

  void replace(const json_node& node) {
    const bool is_text = node.kind == json_kind::string;
    out_.changed = out_.changed || node.kind != json_kind::null;
    if (is_text) return append_json_string(out_.text, redacted_text);
    out_.text += "null";
  }

  void write_members(std::uint32_t position) {
    const bool object = tree_.nodes[position].kind == json_kind::object;
    out_.text += object ? '{' : '[';
    bool first = true;
    // In the order of the text, which the index by name is not.
    for (auto child = position + 1; child < tree_.nodes[position].end;
         child = tree_.nodes[child].end) {
      if (object && treatments_[child] == treatment::dropped) {
        out_.changed = true;
        continue;
      }
      if (!std::exchange(first, false)) out_.text += ',';
      if (object) {
        append_json_string(out_.text, tree_.name(child));
        out_.text += ':';
      }
      write(child);
    }
    out_.text += object ? '}' : ']';
  }

  const json_tree& tree_;
  std::vector<treatment> treatments_;
  const std::size_t longest_;
  selected_json out_;
};

}  // namespace

std::optional<selected_json> select_json(std::string_view text, const json_selection_rules& rules,
                                         std::size_t longest) {
  constexpr std::string_view mark = "\xef\xbb\xbf";  // some frameworks begin UTF-8 with it
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  json_cursor cursor{.text = text};
  json_tree tree;
  // A number of 64 bits has to stay what it is.
  if (!read_json(cursor, tree, {.numbers_as_written = true})) return std::nullopt;
  return selection(tree, rules, longest).written();
}

}  // namespace onceguard
