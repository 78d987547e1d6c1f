// The text of the functions in SQL, and its version.
#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "base/hex.hpp"
#include "store/postgres/schema.hpp"

namespace onceguard::postgres {
namespace {

// A failure says that the text has changed: raise functions_version, unless no release has had the
// present one, and put both here.
TEST(functions_version, is_raised_with_each_change_of_their_text) {
  base::sha256 hash;
  for (const auto text : functions()) hash.part(text);
  EXPECT_EQ(functions_version, 1);
  EXPECT_EQ(base::to_hex(hash.finish()).substr(0, 32), "b6221ddde4b2ae0bd52502ea5f554cab");
}

}  // namespace
}  // namespace onceguard::postgres
