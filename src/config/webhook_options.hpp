// The senders of webhooks: the presets, and those of [[webhook]].
#pragma once
#include <span>
#include <vector>

#include "config/table/document.hpp"
#include "config/table/option.hpp"
#include "config/table/table_reader.hpp"
#include "webhook/sender.hpp"

namespace onceguard::config {

[[nodiscard]] std::span<const row<webhook::sender>> webhook_rows();

/// The presets, and the senders of `tables`, the array [[webhook]]; null: there is none. Nothing
/// where there are no routes either, as only a route names a sender.
[[nodiscard]] std::vector<webhook::sender> read_senders(const reading& source, const node* tables,
                                                        bool routes, remarks& out);

}  // namespace onceguard::config
