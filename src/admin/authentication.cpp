#include "admin/authentication.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "admin/responses.hpp"
#include "admin/token_list.hpp"
#include "base/ascii.hpp"
#include "base/clock.hpp"
#include "base/field.hpp"
#include "http1/server/plain_host.hpp"

namespace onceguard::admin {

namespace {

constexpr std::string_view path_of_sign_in = "/api/sign-in";

bool changes_nothing(const http1::head& head) {
  return head.method == "GET" || head.method == "HEAD";
}

/// Whether a page of another site could make a browser send this request unasked.
bool is_forgeable(const http1::head& head) {
  const auto* type = base::find_field(head.fields, "content-type");
  if (head.method != "POST" || type == nullptr) return head.method == "POST";
  const std::string_view value = type->value;
  return !base::iequals(base::trim(value.substr(0, value.find(';'))), "application/json");
}

/// Whether a browser says that another site's page sends it (Fetch: Origin; Fetch Metadata).
bool comes_from_elsewhere(const http1::head& head) {
  if (const auto* site = base::find_field(head.fields, "sec-fetch-site")) {
    return site->value != "same-origin" && site->value != "none";
  }
  const auto* origin = base::find_field(head.fields, "origin");
  if (origin == nullptr) return false;
  const auto* host = base::find_field(head.fields, "host");
  const std::string_view value = origin->value;
  const auto scheme = value.find("://");
  return host == nullptr || scheme == value.npos || value.substr(scheme + 3) != host->value;
}

/// The token that the caller shows; null: none. A browser repeats what a proxy before this listener
/// asks for, and the proxy may leave it in: that is no token of ours.
const base::field* shown_token(const http1::head& head) {
  const auto* field = base::find_field(head.fields, "authorization");
  if (field == nullptr) return nullptr;
  const std::string_view value = field->value;
  const auto scheme = value.substr(0, value.find(' '));
  for (const std::string_view of_proxy : {"basic", "digest", "negotiate", "ntlm"}) {
    if (base::iequals(scheme, of_proxy)) return nullptr;
  }
  return field;
}

std::string_view role_of(access granted) noexcept {
  return granted == access::act ? "operator" : "viewer";
}

response cookie(const std::string& name, std::string_view value, std::string_view age) {
  response out;
  out.status = 204;
  out.fields = "Set-Cookie: " + name + "=" + std::string(value) +
               "; Path=/; HttpOnly; SameSite=Strict" + std::string(age) + "\r\n";
  return out;
}

}  // namespace

result<authentication::tokens> authentication::read_tokens() const {
  if (params_.token_file.empty()) return tokens();
  auto read = token_list::read(params_.token_file);
  if (!read) return read.error();
  return tokens(std::make_shared<const token_list>(*std::move(read)));
}

void authentication::set_tokens(tokens read) {
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(read);
}

std::string authentication::cookie_name() const {
  return "onceguard-" + std::to_string(port_ ? port_() : 0);
}

std::optional<response> authentication::check_token(const token_list& known,
                                                    const http1::head& head, request& request) {
  if (const auto* field = shown_token(head)) {
    request.sender = known.find(field->value);
    if (request.sender.granted != access::open) return std::nullopt;
    return refusal(401, "The token is not known.");
  }
  if (const auto* field = base::find_field(head.fields, "cookie"); field != nullptr && port_) {
    request.sign_in = find_cookie(field->value, cookie_name());
    // A token that a reload took away ends what began with it.
    const auto* shown = sign_ins_->find(request.sign_in, base::boot_now());
    if (shown != nullptr) request.sender = known.find(*shown);
  }
  const bool by_cookie = request.sender.granted != access::open;
  if ((by_cookie || request.path == path_of_sign_in) && !changes_nothing(head) &&
      (comes_from_elsewhere(head) || is_forgeable(head))) {
    return refusal(403,
                   "A page of another site may not do this; send \"Content-Type: "
                   "application/json\" from this one.");
  }
  return std::nullopt;
}

std::optional<response> authentication::check(const http1::head& head, request& request) {
  if (const auto known = tokens_in_force()) return check_token(*known, head, request);
  request.sender = {access::act, "operator"};
  if (params_.address.is_socket()) return std::nullopt;
  const auto* host = base::find_field(head.fields, "host");
  if (host != nullptr && !http1::is_plain_host(host->value)) {
    return refusal(403, "Without tokens, the host must be an address or \"localhost\".");
  }
  if (is_forgeable(head)) {
    return refusal(415, "Without tokens, a POST needs \"Content-Type: application/json\".");
  }
  return std::nullopt;
}

response authentication::sign_in(const request& wanted) {
  const auto known = tokens_in_force();
  if (!known)
    return refusal(409, "There are no tokens: everybody who reaches this is an operator.");
  const auto body = nlohmann::json::parse(wanted.body, nullptr, false);
  const auto token = body.is_object() ? body.find("token") : body.end();
  if (token == body.end() || !token->is_string()) {
    return refusal(400, "An object with the member \"token\" was expected.");
  }
  auto authorization = "Bearer " + token->get<std::string>();
  const auto granted = known->find(authorization).granted;
  if (granted == access::open) return refusal(401, "The token is not known.");
  const auto begun = sign_ins_->begin(std::move(authorization), granted, base::boot_now());
  if (!begun) return refusal(503, "Too many operators are signed in; try again later.");
  return cookie(cookie_name(), *begun, "");
}

response authentication::sign_out(const request& wanted) {
  sign_ins_->end(wanted.sign_in);
  return cookie(cookie_name(), "", "; Max-Age=0");
}

resources authentication::sign_in_resources(std::function<std::uint16_t()> port,
                                            std::string_view serves) {
  port_ = std::move(port);
  resources out;
  out.push_back({"GET", path_of_sign_in, access::view,
                 [this, serves](const request& wanted) -> boost::asio::awaitable<response> {
                   nlohmann::ordered_json body{{"role", role_of(wanted.sender.granted)},
                                               {"name", wanted.sender.name},
                                               {"signed_in", needs_token()},
                                               {"serves", serves}};
                   if (!params_.trace_url.empty()) body["trace_url"] = params_.trace_url;
                   co_return json_response(body);
                 }});
  out.push_back({"POST", path_of_sign_in, access::open,
                 [this](const request& wanted) -> boost::asio::awaitable<response> {
                   co_return sign_in(wanted);
                 }});
  out.push_back({"DELETE", path_of_sign_in, access::open,
                 [this](const request& wanted) -> boost::asio::awaitable<response> {
                   co_return sign_out(wanted);
                 }});
  return out;
}

}  // namespace onceguard::admin
