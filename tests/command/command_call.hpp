// Commands that leave a mark for each run, and a guard with a store of its own.
#pragma once
#include <algorithm>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include <onceguard/command.hpp>
#include <onceguard/testing.hpp>

#include "support/temporary_folder.hpp"

namespace onceguard::testing {

class command_call : public ::testing::Test {
 protected:
  /// A script that leaves its mark.
  [[nodiscard]] command shell(const std::string& script) const {
    command out;
    out.words = {"/bin/sh", "-c", "echo x >>\"$MARKS\"\n" + script};
    out.environment = {{"MARKS", folder_.file("marks")}};
    return out;
  }
  [[nodiscard]] int runs() const {
    std::ifstream marks(folder_.file("marks"));
    return static_cast<int>(std::count(std::istreambuf_iterator<char>(marks), {}, 'x'));
  }
  [[nodiscard]] static request of(const command& job, const std::string& key = "key") {
    return {"jobs", key, command_fingerprint(job)};
  }

  temporary_folder folder_;
  store_in_hand records_;
  guard guard_ = guard::open(records_.open()).value();
  command_rules rules_;
};

}  // namespace onceguard::testing
