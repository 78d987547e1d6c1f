// Any text as a configuration: read or refused, never a crash, and what is read fits together.
#include <cstdlib>

#include <onceguard/http_config.hpp>

#include "config/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  onceguard::config::sources sources;
  sources.file = "fuzz.toml";
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto read = onceguard::config::load_text(text, sources);
  for (const auto& remark : read.remarks) {
    // What is said may quote the file, and goes to a terminal.
    const auto line = remark.text();
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto c = static_cast<unsigned char>(line[i]);
      const bool c1 = c == 0xc2 && static_cast<unsigned char>(line[i + 1]) < 0xa0;
      if (c < 0x20 || c == 0x7f || c1) std::abort();
    }
  }
  // A service reads the same tables.
  const auto of_service = onceguard::http::parse_routes(text);
  if (of_service ? of_service->routes.empty() : of_service.error().detail.empty()) std::abort();
  if (!read.ok()) return 0;
  const auto& routing = read.values.routing;
  if (routing.upstreams.empty() || routing.routes.empty()) std::abort();
  for (const auto& route : routing.routes) {
    if (route.upstream >= routing.upstreams.size() || !route.path.starts_with('/')) std::abort();
    if (route.policy.lease.count() < 1'000) std::abort();
  }
  return 0;
}
