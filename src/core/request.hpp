// Turns a request to the library into the subject of a record.
#pragma once
#include <optional>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>
#include <onceguard/request.hpp>

namespace onceguard {

/// What is wrong with the request; empty: nothing.
[[nodiscard]] std::optional<error> complaint(const request& request);

/// The digests of a request. Each thread remembers the digest of the last scope: most calls of a
/// thread have the same one.
struct request_digests {
  digest scope{};
  record_id id{};
  onceguard::fingerprint print;
};
/// Of the key as it is kept (core/kept_key.hpp).
[[nodiscard]] request_digests digests_of(const request& request);

[[nodiscard]] subject_ptr subject_of(const request& request, const request_digests& digests);

}  // namespace onceguard
