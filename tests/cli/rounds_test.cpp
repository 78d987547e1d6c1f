// The tables of a command that moves messages, read again while it starts or runs.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/command.hpp"
#include "cli/services/running_workers.hpp"
#include "support/temporary_folder.hpp"

namespace onceguard::cli::services {
namespace {

class reloads : public ::testing::Test {
 protected:
  reloads() { given_.config = folder_.path() / "onceguard.toml"; }

  /// The configuration, with one table of that name.
  config::settings written(const std::string& subscriber) {
    std::ofstream(given_.config) << "[[consume]]\nsubscriber = \"" << subscriber
                                 << "\"\nfrom = \"nats://127.0.0.1:4222/orders/billing\"\n"
                                    "to = \"http://127.0.0.1/\"\n";
    auto read = config::load(sources_of(given_, false));
    EXPECT_TRUE(read.ok());
    return std::move(read.values);
  }

  testing::temporary_folder folder_;
  given_flags given_;
};

TEST_F(reloads, of_the_start_are_taken_by_the_first_round) {
  rounds all(given_, written("first"), [](const auto&) { return true; });
  written("second");
  all.reload();
  std::vector<std::string> seen;
  const auto round = [&](const config::settings& now, const std::stop_source&) {
    seen.push_back(now.consumers.at(0).subscriber);
    return int{exit_ok};
  };
  EXPECT_EQ(all.run(round, {}), exit_ok);
  EXPECT_EQ(seen, std::vector<std::string>{"second"});
}

TEST_F(reloads, that_come_while_a_round_fails_are_not_lost) {
  rounds all(given_, written("first"), [](const auto&) { return true; });
  std::vector<std::string> seen;
  const auto round = [&](const config::settings& now, const std::stop_source&) {
    seen.push_back(now.consumers.at(0).subscriber);
    if (seen.back() == "first") written("second");
    if (seen.back() == "second") written("third");
    if (seen.back() != "third") all.reload();
    return int{seen.back() == "second" ? exit_store : exit_ok};
  };
  EXPECT_EQ(all.run(round, {}), exit_ok);
  EXPECT_EQ(seen, (std::vector<std::string>{"first", "second", "third"}));
}

TEST_F(reloads, that_come_while_the_first_round_fails_are_not_lost_either) {
  rounds all(given_, written("first"), [](const auto&) { return true; });
  std::vector<std::string> seen;
  const auto round = [&](const config::settings& now, const std::stop_source&) {
    seen.push_back(now.consumers.at(0).subscriber);
    if (seen.back() == "second") return int{exit_ok};
    written("second");
    all.reload();
    return int{exit_configuration};
  };
  EXPECT_EQ(all.run(round, {}), exit_ok);
  EXPECT_EQ(seen, (std::vector<std::string>{"first", "second"}));
}

}  // namespace
}  // namespace onceguard::cli::services
