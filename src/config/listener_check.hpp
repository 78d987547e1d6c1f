// Checks what the configuration says of listeners.
#pragma once
#include <map>
#include <string_view>

#include "config/settings.hpp"
#include "config/table/remark.hpp"
#include "tls/context.hpp"

namespace onceguard::config {

/// Where the options of a table were read.
using option_origins = std::map<std::string_view, origin>;

/// The certificate of a listener, its key, and the authorities of its clients.
void check_listener_tls(const tls::server_files& files, std::string_view table,
                        const option_origins& where, remarks& out);

/// The listener of [serve].
void check_serve(const settings& made, const option_origins& where, remarks& out);

/// Whether SIGHUP takes over changes of an option of [serve].
[[nodiscard]] bool is_rule_of_serve(std::string_view option) noexcept;

}  // namespace onceguard::config
