// Which options of [defaults] an operation without a request has, and those of a [[policy]].
#include <algorithm>
#include <array>

#include "config/policy/operation_policies.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {

using namespace values;

namespace {

constexpr auto operation_names = std::to_array<std::string_view>({"answer",
                                                                  "backoff",
                                                                  "backoff_max",
                                                                  "lease",
                                                                  "retention",
                                                                  "unknown_retention",
                                                                  "on_busy",
                                                                  "wait",
                                                                  "unknown",
                                                                  "effect",
                                                                  "store_failure",
                                                                  "exception",
                                                                  "max_answer_body",
                                                                  "upstream_timeout",
                                                                  "answer_pick",
                                                                  "redact",
                                                                  "quota_in_flight",
                                                                  "quota_new_keys",
                                                                  "quota_live_records",
                                                                  "quota_live_bytes"});

std::string policy_name_complaint(std::string_view name) {
  const bool plain =
      !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
        return c > 0x20 && c < 0x7f && c != '"' && c != '\\';
      });
  return plain ? std::string()
               : "expected a name of up to 64 printable characters without spaces, got " +
                     quoted(name);
}

const row<policy_table_draft> named_policy_table[]{
    {{.name = "name",
      .example = "payments",
      .text = "What a claim calls the policy.",
      .complaint = policy_name_complaint},
     assign<&policy_table_draft::name>},
};

}  // namespace

std::span<const row<policy_table_draft>> policy_table_rows() { return named_policy_table; }

const std::vector<const option*>& operation_options() {
  static const auto all = [] {
    auto known = specs_of(policy_rows());
    std::erase_if(known, [](const option* one) {
      return std::find(operation_names.begin(), operation_names.end(), one->name) ==
             operation_names.end();
    });
    return known;
  }();
  return all;
}

std::string operation_option_complaint(std::string_view name) {
  if (std::find(operation_names.begin(), operation_names.end(), name) != operation_names.end()) {
    return {};
  }
  for (const auto& row : policy_rows()) {
    if (row.spec.name == name) return "is for requests; an operation by its parts has none";
  }
  const auto meant = nearest(name, operation_names);
  return "no such option" + (meant.empty() ? "" : "; did you mean \"" + std::string(meant) + "\"?");
}

}  // namespace onceguard::config
