// The result of a command as a stored answer, and back.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <onceguard/command.hpp>

#include "command/collected_output.hpp"

namespace onceguard {
namespace {

TEST(command_codec, any_result_comes_back) {
  const bool holds = rc::check([] {
    command_result made;
    made.exit_code = *rc::gen::inRange(0, 256);
    for (const auto& text : *rc::gen::arbitrary<std::vector<std::string>>()) {
      append(made.output, *rc::gen::element(output_stream::out, output_stream::err), text);
    }
    for (const auto& piece : made.output) made.output_size += piece.bytes.size();
    if (*rc::gen::arbitrary<bool>()) {
      made.output_size += *rc::gen::inRange<std::uint64_t>(1, 1'000);
      made.output_file = "/some/file";
    }
    const auto back = codec<command_result>::decode(codec<command_result>::encode(made));
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == made);
  });
  EXPECT_TRUE(holds);
}

TEST(command_codec, pieces_of_one_stream_are_joined) {
  std::vector<output_piece> pieces;
  append(pieces, output_stream::out, "a");
  append(pieces, output_stream::out, "b");
  append(pieces, output_stream::err, "");
  append(pieces, output_stream::err, "c");
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].bytes, "ab");
}

TEST(command_codec, other_answers_are_refused) {
  const auto refused = [](const answer& stored) {
    const auto got = codec<command_result>::decode(stored);
    return !got && got.error().code == errc::record_unreadable;
  };
  EXPECT_TRUE(refused(answer{}));
  answer by_operator;
  by_operator.status = 200;
  by_operator.body = "found in the log";
  const auto taken = codec<command_result>::decode(by_operator).value();
  EXPECT_EQ(taken.exit_code, 0);
  EXPECT_EQ(taken.output.at(0).bytes, "found in the log");
  answer made = codec<command_result>::encode(command_result{});
  EXPECT_FALSE(refused(made));
  made.body = "more than the order says";
  EXPECT_TRUE(refused(made));
  for (const char* order :
       {"out 3", "out 24, err 1", "out", "in 24", "out -1", "out 99999999999999999999"}) {
    made.headers = {{"Onceguard-Exit-Code", "0"}, {"Onceguard-Output", order}};
    EXPECT_TRUE(refused(made)) << order;
  }
  made.headers = {{"Onceguard-Exit-Code", "zero"}};
  EXPECT_TRUE(refused(made));
}

}  // namespace
}  // namespace onceguard
