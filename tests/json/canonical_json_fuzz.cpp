// Any bytes as a body, after an optional first line with a fingerprint rule. nlohmann-json is the
// second opinion: nothing that it refuses is taken, what it takes is refused only for a reason of
// I-JSON, and a canonical form says what its text said.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <onceguard/fingerprint.hpp>

namespace {

using namespace onceguard;
using nlohmann::json;

void require(bool holds) {
  if (!holds) std::abort();
}

bool refused_as(const error& e, std::string_view description) {
  return e.detail.find(description) != std::string::npos;
}

/// May a text that is JSON be refused like this?
bool reason_of_i_json(std::string_view text, const error& e) {
  constexpr std::array reasons{"significant digits", "range of a double", "beyond 2^53",
                               "a name that occurs twice", "nesting over 512"};
  // nlohmann-json goes past a byte order mark, and ends at a NUL.
  return text.starts_with("\xEF\xBB\xBF") || text.find('\0') != text.npos ||
         std::any_of(reasons.begin(), reasons.end(), [&](auto r) { return refused_as(e, r); });
}

void check_whole(const std::string& text) {
  const auto form = canonical_json(text);
  if (!form) {
    require(form.error().code == errc::invalid_argument);
    require(!json::accept(text) || reason_of_i_json(text, form.error()));
    return;
  }
  require(json::parse(text) == json::parse(*form));
  require(canonical_json(*form).value() == *form);
}

void check_selection(const std::string& text, const fingerprint_rule& rule) {
  const auto form = canonical_json(text, rule);
  require(form.has_value() == canonical_json(text).has_value());
  // Nothing is left when the whole value was omitted; picking nests one deeper.
  if (!form || form->empty()) return;
  const auto again = canonical_json(*form);
  require(again ? *again == *form : refused_as(again.error(), "nesting over 512"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(bytes), size);
  check_whole(input);
  const auto line = input.find('\n');
  if (line == std::string::npos) return 0;
  const auto rule_text = input.substr(0, line);
  const auto body = input.substr(line + 1);
  if (const auto rule = fingerprint_rule::parse(rule_text)) {
    require(rule->text() == rule_text);
    check_selection(body, *rule);
    const fingerprint_input scope{.upstream = "u",
                                  .method = "POST",
                                  .path = "/",
                                  .query = "",
                                  .content_type = "application/json",
                                  .body = body,
                                  .more = {}};
    const auto made = make_fingerprint(*rule, scope);
    require(made == make_fingerprint(*rule, scope) && made.method == rule_text);
  }
  return 0;
}
