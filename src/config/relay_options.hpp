// Makes the parameters of `onceguard relay` from the file's tables [[relay]].
#pragma once
#include <span>
#include <vector>

#include "config/table/document.hpp"
#include "config/table/option.hpp"
#include "config/table/table_reader.hpp"
#include "relay/relay_params.hpp"

namespace onceguard::config {

[[nodiscard]] std::span<const row<relay::relay_params>> relay_rows();

/// `tables` is the array [[relay]]; null: there is none.
[[nodiscard]] std::vector<relay::relay_params> read_relays(const reading& source,
                                                           const node* tables, remarks& out);

}  // namespace onceguard::config
