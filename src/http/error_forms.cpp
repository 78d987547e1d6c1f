#include "http/error_forms.hpp"

#include <algorithm>
#include <array>

#include "json/tree.hpp"

namespace onceguard::http {
namespace {

void append_error_string(std::string& out, std::string_view text) {
  out += '"';
  append_json_escaped(out, text);
  out += '"';
}

/// `"name":"value"`, after a comma where something stands before.
void append_error_member(std::string& out, std::string_view name, std::string_view value) {
  if (out.back() != '{') out += ',';
  append_error_string(out, name);
  out += ':';
  append_error_string(out, value);
}

std::string with_underscores(std::string_view type, bool capitals) {
  std::string out;
  for (const char c : type) {
    out += c == '-' ? '_' : capitals && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

bool is_of_the_request(problem which) noexcept {
  switch (which) {
    case problem::key_missing:
    case problem::key_malformed:
    case problem::scope_missing:
    case problem::bad_request:
    case problem::request_too_large:
    case problem::request_timeout:
    case problem::signature_invalid:
    case problem::delivery_expired:
    case problem::loop_detected:
      return true;
    default:
      return false;
  }
}

void write_problem(answer& out, const shown_error& error) {
  out.headers.emplace_back("Content-Type", "application/problem+json");
  auto& body = out.body;
  body = "{";
  append_error_member(body, "type", error.type);
  append_error_member(body, "title", error.title);
  body += ",\"status\":" + std::to_string(error.status);
  append_error_member(body, "detail", error.detail);
  body += ",\"retryable\":";
  body += error.advice == retry_advice::same_key ? "true}\n" : "false}\n";
}

/// https://docs.stripe.com/api/errors; the codes of the SDKs' own handling are
/// `idempotency_error` and `idempotency_key_in_use`.
void write_stripe(answer& out, const shown_error& error) {
  const auto which = error.which;
  const bool about_key = which == problem::in_progress || which == problem::key_reused;
  const auto code = which == problem::in_progress ? std::string("idempotency_key_in_use")
                                                  : with_underscores(info_of(which).type, false);
  out.headers.emplace_back("Content-Type", "application/json");
  out.headers.emplace_back("Stripe-Should-Retry",
                           error.advice == retry_advice::same_key ? "true" : "false");
  auto& body = out.body;
  body = "{\"error\":{";
  append_error_member(body, "type",
                      about_key                  ? "idempotency_error"
                      : is_of_the_request(which) ? "invalid_request_error"
                                                 : "api_error");
  append_error_member(body, "code", code);
  append_error_member(body, "message", error.detail);
  body += "}}\n";
}

/// https://developer.paypal.com/api/rest/responses/: name, message, debug_id and details.
void write_paypal(answer& out, const shown_error& error) {
  const auto name = error.status == 409   ? "RESOURCE_CONFLICT"
                    : error.status == 422 ? "UNPROCESSABLE_ENTITY"
                    : error.status == 503 ? "SERVICE_UNAVAILABLE"
                    : error.status < 500  ? "INVALID_REQUEST"
                                          : "INTERNAL_SERVER_ERROR";
  const auto issue = error.which == problem::key_missing ? std::string("PAYPAL_REQUEST_ID_REQUIRED")
                     : error.which == problem::key_reused
                         ? std::string("DUPLICATE_REQUEST_ID")
                         : with_underscores(info_of(error.which).type, true);
  out.headers.emplace_back("Content-Type", "application/json");
  auto& body = out.body;
  body = "{";
  append_error_member(body, "name", name);
  append_error_member(body, "message", error.title);
  append_error_member(body, "debug_id", info_of(error.which).type);
  body += ",\"details\":[{";
  append_error_member(body, "issue", issue);
  append_error_member(body, "description", error.detail);
  body += "}]}\n";
}

/// https://docs.adyen.com/development-resources/error-codes/ and …/api-idempotency/: 704 is
/// "request already processed or in progress", and a transient error may be sent again with its
/// key.
void write_adyen(answer& out, const shown_error& error) {
  const bool about_key = error.which == problem::in_progress || error.which == problem::key_reused;
  out.headers.emplace_back("Content-Type", "application/json");
  if (error.advice == retry_advice::same_key) out.headers.emplace_back("Transient-Error", "true");
  auto& body = out.body;
  body = "{\"status\":" + std::to_string(error.status);
  append_error_member(body, "errorCode", about_key ? "704" : info_of(error.which).type);
  append_error_member(body, "message", error.detail);
  append_error_member(body, "errorType", error.status < 500 ? "validation" : "internal");
  body += "}\n";
}

constexpr std::array<std::string_view, 6> placeholders{"{type}",   "{title}",     "{status}",
                                                       "{detail}", "{retryable}", "{retry}"};

std::string filled(std::string_view text, const shown_error& error) {
  const std::array<std::string, placeholders.size()> values{
      error.type,
      std::string(error.title),
      std::to_string(error.status),
      std::string(error.detail),
      error.advice == retry_advice::same_key ? "true" : "false",
      std::string(name_of(error.advice))};
  std::string out;
  while (!text.empty()) {
    const auto brace = std::min(text.find('{'), text.size());
    out += text.substr(0, brace);
    text.remove_prefix(brace);
    const auto* found = std::find_if(placeholders.begin(), placeholders.end(),
                                     [&](std::string_view one) { return text.starts_with(one); });
    if (found != placeholders.end()) {
      append_json_escaped(out, values[static_cast<std::size_t>(found - placeholders.begin())]);
      text.remove_prefix(found->size());
    } else if (!text.empty()) {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      // Details should be ASCII. Other bytes are shown escaped instead of being passed on.
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
}

void write_error(answer& out, error_form form, std::string_view text, const shown_error& error) {
  switch (form) {
    case error_form::problem:
      return write_problem(out, error);
    case error_form::stripe:
      return write_stripe(out, error);
    case error_form::paypal:
      return write_paypal(out, error);
    case error_form::adyen:
      return write_adyen(out, error);
    case error_form::text:
      out.headers.emplace_back("Content-Type", "application/json");
      out.body = filled(text, error);
      return;
  }
}

std::string error_text_fault(std::string_view text) {
  shown_error sample;
  sample.type = "a\"b";
  sample.title = sample.detail = "c\\d";
  sample.status = 400;
  const auto made = filled(text, sample);
  json_tree tree;
  json_cursor cursor{.text = made};
  if (read_json(cursor, tree)) return {};
  return std::string("with its placeholders replaced it is no JSON: ") + cursor.fault;
}

}  // namespace onceguard::http
