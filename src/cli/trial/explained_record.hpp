// The record that an explained request would meet, and what would become of the request now.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/awaitable.hpp>

#include <onceguard/store.hpp>

#include "cli/trial/explanation.hpp"

namespace onceguard::cli::trial {

struct explained_record {
  std::optional<record_view> current;
  std::optional<bool> same_request;
  std::string note;  ///< why the store's contents are not known; empty: they are
};

/// Reads the record of a request that is guarded. As in the gateway, an unreleased record under a
/// former scope of the route takes precedence, of which the explanation then warns.
[[nodiscard]] boost::asio::awaitable<explained_record> find_explained(
    const config::settings& settings, const described_request& request, record_access& records,
    explanation& reply);

struct explained_end {
  /// "run", "probe", "replay", "busy", "mismatch", "backoff", "unknown", "passes", "refused", or
  /// "not_known": the store could not be read.
  std::string_view verdict;
  milliseconds retry_after{0};
};
/// As the state machine decides it. Nothing is claimed.
[[nodiscard]] explained_end end_of(const explanation& reply, const explained_record& seen);

}  // namespace onceguard::cli::trial
