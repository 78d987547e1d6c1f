// TLS in brokers' URLs: the parameters tls_ca, tls_certificate, tls_key (PEM files) and tls_name.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "messaging/broker_url.hpp"
#include "tls/context.hpp"

namespace onceguard::messaging {

inline constexpr std::array<std::string_view, 4> tls_parameters{"tls_ca", "tls_certificate",
                                                                "tls_key", "tls_name"};

/// What a URL takes: the parameters of TLS, and others.
template <std::size_t N>
constexpr std::array<std::string_view, N + tls_parameters.size()> with_tls(
    const std::array<std::string_view, N>& others) {
  std::array<std::string_view, N + tls_parameters.size()> out{};
  for (std::size_t i = 0; i < N; ++i) out[i] = others[i];
  for (std::size_t i = 0; i < tls_parameters.size(); ++i) out[N + i] = tls_parameters[i];
  return out;
}

/// Reads the parameters; opens no file. `encrypted`: what the scheme says. Nullopt: it says no, and
/// none of them is given. `older_names`: the broker's URLs had ca, cert or certificate, key and
/// verify before. Throws `failed` with errc::invalid_argument.
[[nodiscard]] std::optional<tls::client_files> read_tls(const broker_url& url, bool encrypted,
                                                        bool older_names = false);

/// Why one of the files can't be used; empty: all can.
[[nodiscard]] std::string files_fault(const std::optional<tls::client_files>& files);

}  // namespace onceguard::messaging
