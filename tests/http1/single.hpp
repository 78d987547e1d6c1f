// Expects one whole message of a reading.
#pragma once
#include <string_view>

#include <gtest/gtest.h>

#include "http1/reading.hpp"

namespace onceguard::http1::testing {

/// The one message that the bytes were to be.
inline message single(const reading& made, std::string_view bytes) {
  EXPECT_EQ(made.fault, "") << bytes;
  EXPECT_EQ(made.messages.size(), 1u) << bytes;
  EXPECT_TRUE(!made.messages.empty() && made.messages[0].complete) << bytes;
  return made.messages.empty() ? message{} : made.messages[0];
}

}  // namespace onceguard::http1::testing
