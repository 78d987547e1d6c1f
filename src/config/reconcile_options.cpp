// The options of [reconcile].
#include "config/all_options.hpp"
#include "config/stores.hpp"
#include "config/table/option.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

std::string query_complaint(std::string_view value) {
  if (value.find('\0') != std::string_view::npos) return "a query can't hold a NUL byte";
  return value.find("$2") == std::string_view::npos
             ? "a query that does not use $2, the key, says the same of every key"
             : "";
}

// The URL may hold a password: messages never repeat the URL.
std::string database_complaint(std::string_view url) {
  const auto answers = [](const store_kind& kind) { return kind.answers_queries; };
  const auto* kind = known_stores().kind_of(url);
  if (kind != nullptr && answers(*kind)) return known_stores().url_fault(url);
  return "expected " + known_stores().examples(answers);
}

constexpr std::array<std::string_view, 2> absent_words{"none", "unknown"};

const row<settings> reconcile_table[]{
    {{.name = "interval",
      .flag = "reconcile-interval",
      .kind = value_kind::duration,
      .example = "5m",
      .text = "The gateway reconciles by itself, with so long a pause in between. "
              "Empty: only `onceguard reconcile` does.",
      .min = 100,
      .max = day,
      .may_be_empty = true},
     assign<&settings::gateway, &gateway::gateway_params::reconcile_interval>},
    {{.name = "query",
      .flag = "reconcile-query",
      .example = "SELECT 201 AS status, body FROM payments WHERE scope = $1 AND key = $2",
      .text = "One SQL statement that says whether an operation took effect: `$1` is the "
              "scope (hex, text), `$2` the key (text), `$3` the fencing token (bigint). A row "
              "says that it did; its columns `status`, `headers` (text[]: name, value, …) and "
              "`body` are the answer, as far as they are there, and a column `outcome` may say "
              "`done`, `none` or `unknown` instead.",
      .may_be_empty = true,
      .complaint = query_complaint},
     assign<&settings::query, &query_params::text>},
    {{.name = "absent",
      .flag = "reconcile-absent",
      .kind = value_kind::choice,
      .fallback = "unknown",
      .text = "What it means when the query gives no row: `unknown` (nobody knows: a mistyped "
              "query decides nothing) or `none` (it did not happen: the key is free again).",
      .choices = absent_words},
     [](settings& s, const option_value& v) { s.query.absent_is_none = number(v) == 0; }},
    {{.name = "database",
      .flag = "reconcile-database",
      .example = "postgresql://reader@db.internal/shop",
      .text = "Where the query is asked, `postgresql://…` as libpq reads it. Empty: "
              "in the store's own database.",
      .may_be_empty = true,
      .complaint = database_complaint,
      .secret = true},
     assign<&settings::query, &query_params::database>},
};

}  // namespace

std::span<const row<settings>> reconcile_rows() { return reconcile_table; }

}  // namespace onceguard::config
