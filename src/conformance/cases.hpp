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
#include <onceguard/record.hpp>

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

/// A time that a case takes: so many milliseconds, or as long as the longest work that is checked.
struct duration {
  milliseconds count{0};
  bool is_long = false;
};

struct request_plan {
  std::string method = "POST";
  std::string path = "/conformance";           ///< with the query; behind that of the target
  std::vector<std::string> keys{"\"{key}\""};  ///< of Idempotency-Key, a field line each
  std::vector<name_and_value> fields{{"Content-Type", "application/json"}};
  std::optional<std::string> caller = "conformance";  ///< the token in Authorization
  std::string body = R"({"amount":100})";
  bool chunked = false;      ///< the body comes in two chunks
  std::string work;          ///< a JSON object without `delay`: what the test service does
  duration delay;            ///< of the work
  bool wants_bytes = false;  ///< the work answers with bytes, which older test services don't
  std::vector<std::string> work_fields;  ///< names of the fields that the work gives its answer
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
  std::optional<std::size_t> replay;       ///< the fields of the service too
  std::vector<std::string> replay_fields;  ///< their names
  std::vector<field_rule> fields;
  std::string problem;  ///< the last part of the problem's type; empty: any
  std::optional<bool> retryable;
  std::optional<std::string> body;
  std::vector<std::uint64_t>
      runs;  ///< how often the work was done so far, any of these; empty: any
};

enum class step_kind : std::uint8_t {
  send,   ///< and read the answers
  start,  ///< and go on as soon as the test service has begun the work
  await,  ///< the answer of a step that was started
  leave,  ///< send, and go away as soon as the test service has begun the work
  pause,  ///< nothing is sent for some time
};

struct step {
  step_kind kind = step_kind::send;
  request_plan request;
  std::size_t times = 1;    ///< send: how many at once
  std::size_t awaited = 0;  ///< await: the index of the step
  bool reset = false;       ///< leave: the connection is reset, not closed
  duration pause;
  expectation expected;
};

struct test_case {
  std::string name;
  std::vector<level> levels;
  std::string strength;  ///< MUST or SHOULD, as in BCP 14
  std::string rule;      ///< where the rule stands
  std::string says;      ///< the rule, in a sentence
  std::vector<step> steps;
  [[nodiscard]] bool takes_long() const;   ///< as long as the longest work
  [[nodiscard]] bool wants_bytes() const;  ///< from the test service
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
