// What stands on a command line arrives as it was written.
#include "cli/command_line.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "cli/command.hpp"
#include "cli/hidden_arguments.hpp"

namespace onceguard::cli {
namespace {

using words = std::vector<std::string>;

/// A command with each kind of option.
class command_line_of : public ::testing::Test {
 protected:
  void parse(words arguments) {
    CLI::App app("", "onceguard");
    command_line line;
    const auto added = command(app, line).add_command("do", "", "");
    added.add({{"--text", &text_, ""}, {"--list", &list_, ""}});
    if (takes_words_) added.add_words(behind_, "");
    added.runs([] { return 0; });
    take_words(line, arguments);
    std::reverse(arguments.begin(), arguments.end());
    app.parse(std::move(arguments));
  }

  bool takes_words_ = true;
  std::string text_;
  words list_;
  words behind_;
};

TEST_F(command_line_of, no_value_is_taken_for_a_list) {
  for (const std::string value : {"[a,b]", "[]", "{}", "[\"pay\",100]", "a,b"}) {
    list_.clear();
    parse({"do", "--text", value, "--list", value, "--list=" + value, "--", value});
    EXPECT_EQ(text_, value);
    EXPECT_EQ(list_, (words{value, value}));
    EXPECT_EQ(behind_, words{value});
  }
}

TEST_F(command_line_of, nothing_behind_the_sign_is_an_empty_value_and_not_the_next_word) {
  text_ = "before";
  parse(with_options({"do", "--text=", "--list=", "--list=b", "--", "--text="}));
  EXPECT_EQ(text_, "");
  EXPECT_EQ(list_, (words{"", "b"}));
  EXPECT_EQ(behind_, words{"--text="});
}

TEST_F(command_line_of, a_positional_list_takes_all_words_as_they_are) {
  CLI::App app("", "onceguard");
  command_line line;
  words files;
  bool flag = false;
  const auto added = command(app, line).add_command("do", "", "");
  added.add({{"FILE", &files, ""}, {"--list", &list_, ""}, {"--flag", &flag, ""}});
  added.runs([] { return 0; });
  const words given{"[a,b]", "[]", "a", "{}", "[\"x\"]"};
  words arguments{"do",     "--list", "[a,b]",  given[0], given[1],
                  "--flag", given[2], given[3], given[4]};
  std::reverse(arguments.begin(), arguments.end());
  app.parse(std::move(arguments));
  EXPECT_EQ(files, given);
  EXPECT_EQ(list_, words{"[a,b]"});
  EXPECT_TRUE(flag);
}

/// All options and arguments of a command and of those below it.
std::vector<const CLI::Option*> options_below(const CLI::App& command) {
  auto out = command.get_options();
  for (const auto* each : command.get_subcommands([](const CLI::App*) { return true; })) {
    for (const auto* option : options_below(*each)) out.push_back(option);
  }
  return out;
}

TEST(all_commands, have_no_option_that_takes_a_word_for_a_list) {
  CLI::App app("", "onceguard");
  command_line line;
  add_commands(command(app, line), "");
  std::size_t lists = 0;
  for (const auto* option : options_below(app)) {
    EXPECT_FALSE(option->get_allow_extra_args()) << option->get_name(true);
    if (option->get_items_expected_max() > 1) ++lists;
  }
  EXPECT_GE(lists, 10u);
}

TEST_F(command_line_of, what_stands_behind_the_first_mark_is_never_looked_at) {
  parse({"do", "--text", "a", "--", "x", "--text", "b", "--", "--help", "do", "++"});
  EXPECT_EQ(text_, "a");
  EXPECT_EQ(behind_, (words{"x", "--text", "b", "--", "--help", "do", "++"}));
}

TEST_F(command_line_of, words_without_a_mark_are_refused) {
  EXPECT_THROW(parse({"do", "x"}), CLI::ValidationError);
  EXPECT_THROW(parse({"do", "x", "--text", "b"}), CLI::ValidationError);
  EXPECT_THROW(parse({"do", "x", "--", "y"}), CLI::ValidationError);
}

TEST_F(command_line_of, a_command_without_words_takes_the_mark_as_usual) {
  takes_words_ = false;
  EXPECT_THROW(parse({"do", "--", "--text"}), CLI::ExtrasError);
}

TEST(command_words, version_and_help_are_options) {
  EXPECT_EQ(with_options({"version"}), words{"--version"});
  EXPECT_EQ(with_options({"help"}), words{"--help"});
  EXPECT_EQ(with_options({"help", "keys", "list"}), (words{"keys", "list", "--help"}));
  EXPECT_EQ(with_options({"keys", "show", "help"}), (words{"keys", "show", "help"}));
  EXPECT_EQ(with_options({}), words{});
}

TEST(passwords, are_no_part_of_what_is_shown) {
  EXPECT_EQ(without_passwords("postgresql://me:secret@host/db"), "postgresql://me:******@host/db");
  EXPECT_EQ(without_passwords("postgresql://host/db?password=secret&a=b"),
            "postgresql://host/db?password=******&a=b");
  EXPECT_EQ(without_passwords("postgresql://host/db?a=b&%70assw%6Frd=secret&sslpassword=secret"),
            "postgresql://host/db?a=b&%70assw%6Frd=******&sslpassword=******");
  EXPECT_EQ(without_passwords("--store=postgresql://host/db?%zzpassword=a=b"),
            "--store=postgresql://host/db?%zzpassword=***");
  EXPECT_EQ(without_passwords("sqlite:/var/lib/keys.db"), "sqlite:/var/lib/keys.db");
}

}  // namespace
}  // namespace onceguard::cli
