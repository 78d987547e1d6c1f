#include "http/proxy_sign.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/field.hpp"

namespace onceguard::http {
namespace {

/// Fields that caches, balancers and platforms add to every answer. docs/proxies.md
/// says whose they are.
constexpr std::array<std::string_view, 23> sign_names{"Via",
                                                      "X-Varnish",
                                                      "X-Served-By",
                                                      "X-Cache",
                                                      "X-Cache-Hits",
                                                      "CF-Ray",
                                                      "X-Amz-Cf-Id",
                                                      "Apigw-Requestid",
                                                      "X-Amz-Apigw-Id",
                                                      "X-Azure-Ref",
                                                      "X-Cloud-Trace-Context",
                                                      "X-Fastly-Request-Id",
                                                      "Akamai-GRN",
                                                      "X-Akamai-Request-Id",
                                                      "X-Iinfo",
                                                      "X-Sucuri-Id",
                                                      "CDN-RequestId",
                                                      "Fly-Request-Id",
                                                      "X-Vercel-Id",
                                                      "X-Nf-Request-Id",
                                                      "X-Railway-Edge",
                                                      "X-Render-Origin-Server",
                                                      "X-Squid-Error"};

/// A product in `Server`, and the sign that it makes.
struct product {
  std::string_view name;
  std::string_view sign;
};
constexpr std::array servers{product{"varnish", "Server: Varnish"},
                             product{"cloudflare", "Server: cloudflare"},
                             product{"cloudfront", "Server: CloudFront"},
                             product{"heroku-router", "Server: heroku-router"},
                             product{"vegur", "Server: Vegur"},
                             product{"cowboy", "Server: Cowboy"},
                             product{"google frontend", "Server: Google Frontend"},
                             product{"akamaighost", "Server: AkamaiGHost"},
                             product{"ats", "Server: ATS"},
                             product{"squid", "Server: squid"},
                             product{"apache", "Server: Apache"},
                             product{"litespeed", "Server: LiteSpeed"},
                             product{"fly", "Server: Fly"},
                             product{"vercel", "Server: Vercel"},
                             product{"netlify", "Server: Netlify"},
                             product{"imperva", "Server: Imperva"}};

std::string_view sign_of_product(std::string_view server) noexcept {
  const auto name = base::trim(server.substr(0, server.find('/')));
  for (const auto& one : servers) {
    if (base::iequals(one.name, name)) return one.sign;
  }
  return {};
}

/// Whether Envoy (or Istio, which uses Envoy) has answered and there is no Retry-After of an
/// application.
bool is_of_mesh(std::span<const base::field> fields) noexcept {
  bool mesh = false;
  for (const auto& f : fields) {
    if (base::iequals(f.name, "retry-after") && !f.value.empty()) return false;
    if (!base::iequals(f.name, "server")) continue;
    mesh = mesh || base::iequals(f.value, "envoy") || base::iequals(f.value, "istio-envoy");
  }
  return mesh;
}

constexpr std::array<std::string_view, 2> pages_without_servers{
    "No server is available to handle this request.", "no available server"};

}  // namespace

std::string_view proxy_sign(std::span<const base::field> fields) noexcept {
  for (const auto& f : fields) {
    for (const auto name : sign_names) {
      if (base::iequals(name, f.name)) return name;
    }
    if (!base::iequals(f.name, "server")) continue;
    if (const auto sign = sign_of_product(f.value); !sign.empty()) return sign;
  }
  return is_of_mesh(fields) ? std::string_view("Server: envoy") : std::string_view();
}

bool says_nothing_was_sent(std::string_view body) noexcept {
  return std::any_of(pages_without_servers.begin(), pages_without_servers.end(),
                     [&](std::string_view page) { return body.find(page) != body.npos; });
}

void server_naming::note(std::uint16_t status, std::span<const base::field> fields) noexcept {
  if (status < 200 || status > 299) return;
  const auto before = seen_.load(relaxed);
  if (before == names::not_always) return;
  const bool named = base::find_field(fields, "server") != nullptr;
  const auto now = named ? names::always : names::not_always;
  if (now != before) seen_.store(now, relaxed);
}

bool server_naming::lacks_name(std::span<const base::field> fields) const noexcept {
  return seen_.load(relaxed) == names::always && base::find_field(fields, "server") == nullptr;
}

}  // namespace onceguard::http
