// What doctor says of the place of a store that is kept in files.
#pragma once
#include <string>

#include "base/diagnosis.hpp"

namespace onceguard {

[[nodiscard]] base::diagnosis diagnose_room(const std::string& folder);
/// Whether the files outlive a reboot, and the end of a container.
[[nodiscard]] base::diagnosis diagnose_file_system(const std::string& folder);
/// Answers may hold what only their caller should see. `path`: a file in `folder`. Nothing is added
/// if there is no such file.
void diagnose_rights(const std::string& path, const std::string& folder, base::diagnoses& out);

}  // namespace onceguard
