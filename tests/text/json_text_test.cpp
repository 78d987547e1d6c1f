#include "text/json_text.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace onceguard {
namespace {

using nlohmann::json;

bool is_printable_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

TEST(json_string, escapes_what_json_asks_for) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
  EXPECT_EQ(json_string("\xc3\xa9"), "\"\xc3\xa9\"");
  EXPECT_EQ(json_string("\xc3\xa9\x7f", true), R"("\u00e9\u007f")");
}

TEST(json_string, replaces_what_is_not_utf8) {
  EXPECT_EQ(json::parse(json_string("a\xff"
                                    "b"))
                .get<std::string>(),
            "a\xef\xbf\xbd"
            "b");
}

RC_GTEST_PROP(json_string, is_json_for_any_bytes, (const std::string& bytes)) {
  const auto read = json::parse(json_string(bytes)).get<std::string>();
  RC_ASSERT(!is_utf8(bytes) || read == bytes);
  RC_ASSERT(is_printable_ascii(json_string(bytes, true)));
}

}  // namespace
}  // namespace onceguard
