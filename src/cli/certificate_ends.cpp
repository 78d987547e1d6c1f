#include "cli/certificate_ends.hpp"

#include <filesystem>
#include <set>
#include <system_error>

#include "tls/context.hpp"

namespace onceguard::cli {

std::vector<std::pair<std::string, long long>> certificate_ends(const config::settings& settings) {
  const auto& listener = settings.gateway;
  std::set<std::string> paths{listener.tls_certificate, listener.tls_client_ca};
  for (const auto& upstream : settings.routing.upstreams) {
    if (!upstream.address.tls) continue;
    paths.insert(upstream.address.tls->files.ca);
    paths.insert(upstream.address.tls->files.certificate);
  }
  std::vector<std::pair<std::string, long long>> out;
  for (const auto& path : paths) {
    // It may have become anything meanwhile; opening a FIFO would wait for its writer.
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) continue;
    if (const auto end = tls::end_of_certificate(path)) out.emplace_back(path, *end);
  }
  return out;
}

}  // namespace onceguard::cli
