// The table of the conformance kit: requests and the answers that the contract expects. The table
// is data with a version; docs/conformance.md describes its members.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>

namespace onceguard::conformance {

inline constexpr std::uint64_t table_version = 1;

/// How much of the contract a check covers.
enum class level : std::uint8_t {
  draft,        ///< what draft-ietf-httpapi-idempotency-key-header says
  onceguard,    ///< the whole contract of Onceguard
  transaction,  ///< the same, where the work commits with its record, or not at all
};
[[nodiscard]] std::optional<level> level_of(std::string_view name) noexcept;
[[nodiscard]] std::string_view name_of(level level) noexcept;

using name_and_value = std::pair<std::string, std::string>;

struct request_plan {
  std::string method = "POST";
  std::string path = "/conformance";  ///< with the query; behind the path of the target
  std::vector<std::string> keys;      ///< values of Idempotency-Key, a field line each
  std::vector<name_and_value> fields;
  std::string body;
  std::string work;  ///< JSON: what the test service does; empty: what it does by itself
};

/// A field of an answer: its values in their order, or their form.
struct field_rule {
  std::string name;
  std::vector<std::string> values;  ///< empty: the field is absent
  bool seconds = false;             ///< one value, a whole number of seconds from 1
};

struct expectation {
  std::vector<std::uint16_t> statuses;     ///< any of these; 0: no answer; empty: any
  std::optional<std::size_t> same_answer;  ///< status and body of the answer of that step
  std::optional<std::size_t> replay;       ///< the fields too, in their order
  std::vector<field_rule> fields;
  std::string problem;  ///< the last part of the problem's type; empty: any
  std::optional<bool> retryable;
  std::optional<std::string> body;
  std::optional<std::uint64_t> runs;  ///< how often the test service did the work so far
};

enum class step_kind : std::uint8_t {
  send,   ///< and read the answers
  start,  ///< and go on as soon as the test service has begun the work
  await,  ///< the answer of a step that was started
};

struct step {
  step_kind kind = step_kind::send;
  request_plan request;
  std::size_t times = 1;    ///< send: how many at once
  std::size_t awaited = 0;  ///< await: the index of the step
  expectation expected;
};

struct test_case {
  std::string name;
  std::vector<level> levels;
  std::string strength;  ///< MUST or SHOULD, as in BCP 14
  std::string rule;      ///< where the rule stands
  std::string says;      ///< the rule, in a sentence
  std::vector<step> steps;
};

struct table {
  std::uint64_t version = table_version;
  std::vector<test_case> cases;
};

/// Reads a table; variants have become cases. The error names the member that is wrong.
[[nodiscard]] result<table> read_table(std::string_view json);

/// src/conformance/cases.json, which is compiled in.
[[nodiscard]] std::string_view standard_table() noexcept;

}  // namespace onceguard::conformance
