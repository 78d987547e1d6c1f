// Preconditions after RFC 9110, 13.2.2, and changes over a row with a version.
#include <vector>

#include <gtest/gtest.h>

#include <onceguard/precondition.hpp>

namespace onceguard::http {
namespace {

using enum precondition;
using field_list = std::vector<field>;

field match(std::string_view value) { return {"If-Match", value}; }
field none_match(std::string_view value) { return {"If-None-Match", value}; }

struct evaluation {
  std::string_view method;
  field_list fields;
  std::optional<etag> current;
  precondition expected;
  bool required = false;
};

const std::optional<etag> seven = etag{"7", false};
const std::optional<etag> weak_seven = etag{"7", true};
const std::optional<etag> nothing;

const evaluation evaluations[] = {
    // Without a condition.
    {"PUT", {}, seven, proceed},
    {"PUT", {}, nothing, proceed},
    {"PUT", {}, seven, required, true},
    {"POST", {}, seven, required, true},
    {"PATCH", {}, seven, required, true},
    {"DELETE", {}, seven, required, true},
    {"PUT", {}, nothing, required, true},
    {"GET", {}, seven, proceed, true},
    {"HEAD", {}, seven, proceed, true},
    {"OPTIONS", {}, seven, proceed, true},
    // If-Match: strong.
    {"PUT", {match("\"7\"")}, seven, proceed, true},
    {"PUT", {match("\"6\"")}, seven, failed, true},
    {"PUT", {match("\"6\", \"7\"")}, seven, proceed},
    {"PUT", {match("\"6\""), match("\"7\"")}, seven, proceed},
    {"PUT", {{"if-match", "\"7\""}}, seven, proceed},
    {"PUT", {match("W/\"7\"")}, seven, failed},
    {"PUT", {match("\"7\"")}, weak_seven, failed},
    {"PUT", {match("*")}, seven, proceed, true},
    {"PUT", {match("*")}, weak_seven, proceed},
    {"PUT", {match("*")}, nothing, failed},
    {"PUT", {match("\"7\"")}, nothing, failed},
    {"GET", {match("\"6\"")}, seven, failed},
    // If-None-Match: weak.
    {"GET", {none_match("\"7\"")}, seven, not_modified},
    {"HEAD", {none_match("W/\"7\"")}, seven, not_modified},
    {"GET", {none_match("\"7\"")}, weak_seven, not_modified},
    {"GET", {none_match("\"6\"")}, seven, proceed},
    {"GET", {none_match("*")}, seven, not_modified},
    {"PUT", {none_match("*")}, nothing, proceed, true},
    {"PUT", {none_match("*")}, seven, failed, true},
    {"PUT", {none_match("W/\"7\"")}, seven, failed},
    {"PUT", {none_match("\"6\"")}, seven, proceed},
    // It says which version the client has not: another writer's change would be lost.
    {"PUT", {none_match("\"6\"")}, seven, required, true},
    // Both: If-Match goes first, and both must hold.
    {"GET", {match("\"6\""), none_match("\"7\"")}, seven, failed},
    {"GET", {none_match("\"7\""), match("\"7\"")}, seven, not_modified},
    {"PUT", {match("\"7\""), none_match("\"6\"")}, seven, proceed},
    {"PUT", {match("\"7\""), none_match("*")}, seven, failed},
    // Dates are ignored without a date of modification.
    {"PUT", {{"If-Unmodified-Since", "Sat, 29 Oct 1994 19:43:31 GMT"}}, seven, proceed},
    {"PUT", {{"If-Unmodified-Since", "Sat, 29 Oct 1994 19:43:31 GMT"}}, seven, required, true},
    {"GET", {{"If-Modified-Since", "Sat, 29 Oct 1994 19:43:31 GMT"}}, seven, proceed},
    // 13.2.1
    {"OPTIONS", {match("\"6\"")}, seven, proceed},
    {"TRACE", {none_match("*")}, seven, proceed},
    {"CONNECT", {match("x")}, seven, proceed},
    // What can't be read is no condition that holds.
    {"PUT", {match("7")}, seven, malformed},
    {"PUT", {match("")}, seven, malformed, true},
    {"PUT", {match("*, \"7\"")}, seven, malformed},
    {"PUT", {match("*"), match("*")}, seven, malformed},
    {"PUT", {match("\"7\""), none_match("7")}, seven, malformed},
    {"DELETE", {none_match("")}, seven, malformed},
    {"GET", {match("7")}, seven, malformed},
    {"GET", {none_match("7")}, seven, proceed},
};

TEST(preconditions, are_evaluated_in_the_order_of_the_rfc) {
  int number = 0;
  for (const auto& one : evaluations) {
    const request message{one.method, "/things/1", one.fields, {}};
    EXPECT_EQ(evaluate(message, one.current, one.required), one.expected)
        << "evaluation " << number << ": " << one.method;
    ++number;
  }
}

TEST(preconditions, have_a_status_each) {
  EXPECT_EQ(status_of(proceed), 200);
  EXPECT_EQ(status_of(not_modified), 304);
  EXPECT_EQ(status_of(failed), 412);
  EXPECT_EQ(status_of(required), 428);
  EXPECT_EQ(status_of(malformed), 400);
}

// ---- changes

/// A row, and another writer who is faster so many times.
struct row_in_hand {
  std::optional<std::int64_t> version;
  bool applied = false;
  int faster = 0;
  int stores = 0;

  changed run(std::string_view method, const field_list& sent, const change_rules& rules = {}) {
    const versioned_row row{
        [this] {
          return current_version{version, applied};
        },
        [this](std::optional<std::int64_t> expected) -> std::optional<std::int64_t> {
          if (faster > 0) {
            --faster;
            version = version.value_or(0) + 1;
          }
          if (version != expected) return std::nullopt;
          ++stores;
          version = version.value_or(0) + 1;
          return version;
        }};
    return change({method, "/things/1", sent, {}}, row, rules);
  }
};

TEST(changes, are_made_on_the_version_that_was_seen) {
  row_in_hand row{7};
  const auto done = row.run("PUT", {match("\"7\"")});
  EXPECT_EQ(done.kind, change_kind::changed);
  EXPECT_EQ(done.version, 8);
  const auto late = row.run("PUT", {match("\"7\"")});
  EXPECT_EQ(late.kind, change_kind::failed);
  EXPECT_EQ(late.version, 8) << "what the client has to read";
  EXPECT_EQ(row.stores, 1);
}

TEST(changes, between_the_look_and_the_store_are_noticed) {
  row_in_hand row{7, false, 1};
  EXPECT_EQ(row.run("PUT", {match("\"7\"")}).kind, change_kind::failed);
  EXPECT_EQ(row.stores, 0);
}

TEST(changes, of_whatever_is_there_are_tried_again) {
  row_in_hand row{7, false, 3};
  EXPECT_EQ(row.run("PUT", {match("*")}).kind, change_kind::changed);
  EXPECT_EQ(row.stores, 1);
  row_in_hand busy{7, false, 1'000};
  EXPECT_EQ(busy.run("PUT", {}, {.required = false}).kind, change_kind::contended);
  EXPECT_EQ(busy.stores, 0);
}

TEST(changes, make_what_is_not_there_once) {
  row_in_hand row{};
  EXPECT_EQ(row.run("PUT", {none_match("*")}).kind, change_kind::created);
  EXPECT_EQ(row.run("PUT", {none_match("*")}).kind, change_kind::failed);
  row_in_hand raced{std::nullopt, false, 1};
  EXPECT_EQ(raced.run("PUT", {none_match("*")}).kind, change_kind::failed);
  EXPECT_EQ(raced.stores, 0);
}

TEST(changes, need_a_condition_where_one_is_required) {
  row_in_hand row{7};
  EXPECT_EQ(row.run("PUT", {}).kind, change_kind::required);
  EXPECT_EQ(row.run("PUT", {match("seven")}).kind, change_kind::malformed);
  EXPECT_EQ(row.stores, 0);
  EXPECT_EQ(row.run("PUT", {}, {.required = false}).kind, change_kind::changed);
}

TEST(changes, that_were_made_already_are_a_success) {
  row_in_hand row{8, true};
  const auto repeat = row.run("PUT", {match("\"7\"")});
  EXPECT_EQ(repeat.kind, change_kind::applied);
  EXPECT_EQ(repeat.version, 8);
  EXPECT_EQ(row.run("PUT", {none_match("*")}).kind, change_kind::failed) << "RFC 9110, 13.1.2";
  EXPECT_EQ(row.run("PUT", {match("\"7\""), none_match("*")}).kind, change_kind::applied);
  EXPECT_EQ(row.run("PUT", {match("\"8\""), none_match("*")}).kind, change_kind::failed);
  EXPECT_EQ(row.stores, 0);
}

TEST(changes, of_what_is_not_there_are_a_404_whatever_the_conditions) {
  row_in_hand row{};
  EXPECT_EQ(row.run("PATCH", {match("\"7\"")}, {.creates = false}).kind, change_kind::absent);
  EXPECT_EQ(row.run("PATCH", {}, {.creates = false}).kind, change_kind::absent);
  row.applied = true;
  EXPECT_EQ(row.run("DELETE", {match("\"7\"")}, {.creates = false}).kind, change_kind::applied);
  EXPECT_EQ(row.stores, 0);
}

TEST(changes, have_a_status_each) {
  constexpr std::pair<change_kind, int> statuses[] = {
      {change_kind::created, 201},   {change_kind::changed, 200},  {change_kind::applied, 200},
      {change_kind::absent, 404},    {change_kind::failed, 412},   {change_kind::required, 428},
      {change_kind::malformed, 400}, {change_kind::contended, 503}};
  for (const auto& [kind, status] : statuses) EXPECT_EQ(status_of(kind), status);
}

}  // namespace
}  // namespace onceguard::http
