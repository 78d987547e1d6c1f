// What all stores share that examine the place where their records are.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>
#include <onceguard/store.hpp>

#include "base/diagnosis.hpp"

namespace onceguard {

/// What a store that is examined is for.
enum class store_role : std::uint8_t {
  truth,        ///< its records decide
  accelerator,  ///< it holds copies
};
/// "store-clock", "accelerator-clock": the id of a diagnosis.
[[nodiscard]] std::string diagnosis_id(store_role role, std::string_view subject);

/// The store can't be opened.
[[nodiscard]] base::diagnosis diagnose_refusal(store_role role, const error& why);
/// Whether a store that was opened takes writes. Blocks for the timeout at most.
[[nodiscard]] base::diagnosis diagnose_writes(store_role role, store& opened, milliseconds timeout);
/// `ahead`: of the server's clock against this machine's, in milliseconds. `round_trip`: of the
/// question.
[[nodiscard]] base::diagnosis diagnose_clock(store_role role, std::int64_t ahead,
                                             std::int64_t round_trip);

/// Versions of a server or a library with a fault that loses records: from `first` on, before
/// `mended`.
struct faulty_versions {
  std::string_view first;
  std::string_view mended;
};

/// Whether this version, as "15.8 (Debian 15.8-1)" or "7.0.15", is one of them.
[[nodiscard]] bool is_faulty(std::string_view version, const faulty_versions& faulty);

}  // namespace onceguard
