// Wrong values of what clients and their contracts need: keys, scopes, errors.
#include <string>

#include <gtest/gtest.h>

#include "config/load.hpp"

namespace onceguard::config {
namespace {

struct refused_option {
  std::string_view toml;
  std::string_view fault;
};

const refused_option refused_options[] = {
    {"[defaults]\nscope = \"jwt:\"\n",
     "c.toml:2:9: [defaults] scope: expected the name of a claim after \"jwt:\", got \"jwt:\"\n"},
    {"[jwt]\nkeys_file = \"/nowhere\"\n",
     "c.toml:2:13: [jwt] keys_file: /nowhere: can't be read: No such file or directory\n"},
    {"[defaults]\nredact = [\"card\"]\n",
     "c.toml:2:11: [defaults] redact: expected a JSON Pointer such as \"/payment/amount\", got "
     "\"card\"\n"},
    {"[defaults]\nredact = [\"header:X Y\"]\n",
     "c.toml:2:11: [defaults] redact: expected \"header:\" and the name of a header, got "
     "\"header:X Y\"\n"},
    {"[defaults]\nredact = [\"header:Content-Type\"]\n",
     "c.toml:2:11: [defaults] redact: Content-Type always stays: without it the body can't be "
     "read\n"},
    {"[defaults]\nanswer = \"status\"\nanswer_pick = [\"/id\"]\n",
     "c.toml:3:15: [defaults] answer_pick: picks values of a body, and answer = \"status\" keeps "
     "no body\n"},
    {"[defaults]\nquota_in_flight = -1\n",
     "c.toml:2:19: [defaults] quota_in_flight: expected a whole number from 0 to "
     "1000000, got \"-1\"\n"},
    {"[defaults]\nkey = [\"json:id\"]\n",
     "c.toml:2:8: [defaults] key: expected a JSON Pointer such as \"/id\" after \"json:\", got "
     "\"json:id\"\n"},
    {"[defaults]\nkey = [\"json:/id\"]\nobserve = true\n",
     "c.toml:2:7: [defaults] key: a key in the body can't be observed: it is known after the body "
     "only\n"},
    {"[defaults]\nerrors = \"template\"\n",
     "c.toml:2:10: [defaults] errors: \"template\" needs error_template_file\n"},
    {"[defaults]\nerrors = \"template\"\nerror_template_file = \"/nowhere\"\n",
     "c.toml:3:23: [defaults] error_template_file: \"/nowhere\" can't be read: No such file or "
     "directory\n"},
    {"[defaults]\nerrors = \"template\"\nerror_template_file = \"/dev/null\"\n",
     "c.toml:3:23: [defaults] error_template_file: \"/dev/null\": with its placeholders replaced "
     "it "
     "is no JSON: a value is missing\n"},
    {"[defaults]\nprofile = \"square\"\n",
     "c.toml:2:11: [defaults] profile: expected \"\", \"ietf\", \"stripe\", \"paypal\" or "
     "\"adyen\", got \"square\"\n"},
    {"[defaults]\ncors = [\"https://shop.example/\"]\n",
     "c.toml:2:9: [defaults] cors: expected an origin such as \"https://shop.example\" in lower "
     "case, without a path, or \"*\", got \"https://shop.example/\"\n"},
    {"[defaults]\nmismatch_status = \"200\"\n",
     "c.toml:2:19: [defaults] mismatch_status: expected a status from 400 to 499, got \"200\"\n"},
};

TEST(options_of_contracts, say_what_is_wrong_and_where) {
  sources given;
  given.file = "c.toml";
  given.need_upstream = false;
  for (const auto& wrong : refused_options) {
    std::string found;
    for (const auto& each : load_text(wrong.toml, given).remarks) {
      if (each.weight == remark::grade::fault) found += each.text() + "\n";
    }
    EXPECT_EQ(found, wrong.fault) << wrong.toml;
  }
}

}  // namespace
}  // namespace onceguard::config
