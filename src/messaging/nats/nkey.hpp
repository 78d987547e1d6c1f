// Users of NATS that are known by a key: files with seeds of nkeys, and credentials files.
#pragma once
#include <string>

#include <onceguard/error.hpp>

namespace onceguard::messaging::nats {

/// The public key, "U…", of the seed in the file, "SU…", on a line of its own. The error names the
/// file, and says what is wrong with it; it never repeats what the file holds.
[[nodiscard]] result<std::string> public_nkey_of(const std::string& file);

/// Why the file can't be one of credentials, with a user's JWT and seed; empty: it may be.
[[nodiscard]] std::string credentials_fault(const std::string& file);

}  // namespace onceguard::messaging::nats
