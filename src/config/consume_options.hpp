// Makes the parameters of `onceguard consume` from the file's tables [[consume]].
#pragma once
#include <span>
#include <vector>

#include "config/policy/policy_options.hpp"
#include "config/table/document.hpp"
#include "config/table/option.hpp"
#include "config/table/table_reader.hpp"
#include "consume/consume_params.hpp"

namespace onceguard::config {

struct consume_draft {
  consume::consume_params params;
};

[[nodiscard]] std::span<const row<consume_draft>> consume_rows();

/// Why it can't be the name of a subscriber or a relay; empty: it can.
[[nodiscard]] std::string name_complaint(std::string_view name);

/// Why a message's header can't go along to an endpoint; empty: it can.
[[nodiscard]] std::string message_header_complaint(std::string_view name);

/// `tables` is the array [[consume]]; null: there is none. What a table does not say of its policy
/// is said by `defaults`.
[[nodiscard]] std::vector<consume::consume_params> read_consumers(const reading& source,
                                                                  const node* tables,
                                                                  const policy_draft& defaults,
                                                                  remarks& out);

}  // namespace onceguard::config
