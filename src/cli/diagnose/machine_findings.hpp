// Examines what a gateway or consumer needs: its port, files and folders, its upstreams and queues.
#pragma once
#include <string>
#include <string_view>

#include "base/diagnosis.hpp"
#include "consume/consume_params.hpp"
#include "gateway/params/gateway_params.hpp"

namespace onceguard::cli::diagnose {

/// Whether the port can be listened on, and who has it otherwise. The port is given back at once.
/// `option` names it.
[[nodiscard]] base::diagnosis examine_listener(std::string_view option,
                                               const base::endpoint& listen);

/// Whether the process may open the files that so many connections need.
[[nodiscard]] base::diagnosis examine_file_limit(std::size_t connections);
/// Files that so many connections need: two each, and those of the store, the log and the listener.
[[nodiscard]] std::size_t files_for(std::size_t connections);

/// Whether the kernel can shut the process in; `wanted`: whether the configuration asks for it.
[[nodiscard]] base::diagnosis examine_sandbox(bool wanted);

/// Whether files can be made in the folder; makes one, and removes it. `option`: it names the
/// folder.
[[nodiscard]] base::diagnosis examine_folder(std::string_view option, const std::string& folder);

/// Whether a Unix socket can be made at the path, and who listens there otherwise. Makes none.
[[nodiscard]] base::diagnosis examine_socket(std::string_view option, const std::string& path);

/// Whether lines can be added to the file, or the file can be made. Makes none.
[[nodiscard]] base::diagnosis examine_file(std::string_view option, const std::string& file);

/// Whether the volume of the file that grows has room left. `option`: it names the file.
[[nodiscard]] base::diagnosis examine_room(std::string_view option, const std::string& file);

/// Whether other users of the machine may connect to a live Unix socket that asks for no token.
/// None: no, or nobody listens there.
[[nodiscard]] base::diagnoses examine_socket_rights(std::string_view option,
                                                    const std::string& path);

/// Whether the upstream takes connections, and whether it is this gateway; nothing is sent.
[[nodiscard]] base::diagnosis examine_upstream(const gateway::upstream_params& upstream,
                                               const base::endpoint& listen, milliseconds timeout);

/// Whether the queue is there, and whether its broker delivers a message as often as the attempts
/// need, and keeps it for as long.
[[nodiscard]] base::diagnoses examine_consumer(const consume::consume_params& params);

}  // namespace onceguard::cli::diagnose
