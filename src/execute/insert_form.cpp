#include "execute/insert_form.hpp"

#include <string>
#include <vector>

namespace onceguard {
namespace {

bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

bool is_word(char c) noexcept { return is_letter(c) || (c >= '0' && c <= '9'); }

/// The words of a statement in capitals, without what stands in quotes and comments.
class sql_words {
 public:
  explicit sql_words(std::string_view text) : text_(text) {
    while (position_ < text_.size()) step();
  }
  [[nodiscard]] const std::vector<std::string>& all() const noexcept { return words_; }

 private:
  [[nodiscard]] bool begins(std::string_view mark) const noexcept {
    return text_.substr(position_).starts_with(mark);
  }

  /// Behind the next mark, or to the end of the text.
  void skip_past(std::string_view mark) {
    const auto found = text_.find(mark, position_);
    position_ = found == std::string_view::npos ? text_.size() : found + mark.size();
  }

  void step() {
    const char c = text_[position_];
    if (begins("--")) return skip_past("\n");
    if (begins("/*")) return skip_comment();
    if (c == '\'' || c == '"' || c == '`') return skip_quoted(c, false);
    if (c == '[') return skip_past("]");
    if (c == '$') return skip_dollars();
    if (!is_word(c)) return static_cast<void>(++position_);
    std::string word;
    for (; position_ < text_.size() && is_word(text_[position_]); ++position_) {
      const char letter = text_[position_];
      word += letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    }
    if (word == "E" && begins("'")) return skip_quoted('\'', true);
    words_.push_back(std::move(word));
  }

  /// A quote within is doubled, which is two texts in a row; or, in E'…', behind a backslash.
  void skip_quoted(char quote, bool escapes) {
    for (++position_; position_ < text_.size() && text_[position_] != quote; ++position_) {
      if (escapes && text_[position_] == '\\') ++position_;
    }
    ++position_;
  }

  void skip_comment() {
    // PostgreSQL nests them.
    std::size_t depth = 0;
    do {
      if (begins("/*")) {
        ++depth;
        position_ += 2;
      } else if (begins("*/")) {
        --depth;
        position_ += 2;
      } else {
        ++position_;
      }
    } while (depth > 0 && position_ < text_.size());
  }

  /// $tag$ … $tag$, or a parameter.
  void skip_dollars() {
    auto end = position_ + 1;
    while (end < text_.size() && is_word(text_[end])) ++end;
    const bool quotes = end < text_.size() && text_[end] == '$' &&
                        (end == position_ + 1 || is_letter(text_[position_ + 1]));
    if (!quotes) {
      position_ = end;
      return;
    }
    const auto mark = text_.substr(position_, end + 1 - position_);
    position_ = end + 1;
    skip_past(mark);
  }

  const std::string_view text_;
  std::size_t position_ = 0;
  std::vector<std::string> words_;
};

}  // namespace

bool leaves_conflicts_alone(std::string_view insert) {
  const sql_words read(insert);
  const auto& words = read.all();
  std::size_t conflicts = 0;
  std::size_t left_alone = 0;
  bool inserts = false;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto& next = words[i + 1];
    if (words[i] == "INSERT" && next != "INTO") return false;  // OR REPLACE and the like
    inserts = inserts || words[i] == "INSERT";
    if (words[i] == "ON" && next == "CONFLICT") ++conflicts;
    if (words[i] == "DO" && next != "NOTHING") return false;
    if (words[i] == "DO") ++left_alone;
  }
  return inserts && conflicts > 0 && conflicts == left_alone;
}

}  // namespace onceguard
