#include "aws/metadata.hpp"

#include <fstream>
#include <iterator>
#include <vector>

#include <nlohmann/json.hpp>

#include "aws/curl_handle.hpp"
#include "base/ascii.hpp"
#include "base/json_reader.hpp"
#include "base/time_text.hpp"
#include "base/url.hpp"

namespace onceguard::aws {
namespace {

constexpr std::size_t largest_document = 65'536;

struct question {
  std::string url;
  const char* method = "GET";
  std::vector<std::string> headers{};
};

error out_of_reach(const std::string& text) { return {errc::store_unreachable, text}; }

std::size_t append_metadata_document(char* data, std::size_t, std::size_t size, void* target) {
  auto& body = *static_cast<std::string*>(target);
  if (body.size() + size > largest_document) return 0;
  body.append(data, size);
  return size;
}

result<std::string> ask(const question& wanted, milliseconds timeout) {
  prepare_curl();
  const curl_handle curl(curl_easy_init());
  if (!curl) throw std::bad_alloc();
  header_list headers;
  for (const auto& each : wanted.headers) add_header(headers, each);
  std::string body;
  char fault[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl.get(), CURLOPT_URL, wanted.url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, wanted.method);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_PROXY, "");  // what answers must be this machine itself
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, fault);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, append_metadata_document);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
  const auto code = curl_easy_perform(curl.get());
  if (code != CURLE_OK) {
    return out_of_reach(wanted.url + ": " + (fault[0] != '\0' ? fault : curl_easy_strerror(code)));
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 200) return out_of_reach(wanted.url + ": it answers " + std::to_string(status));
  return body;
}

/// "2026-01-31T12:00:00Z", which base::parse_time takes with milliseconds only.
std::optional<std::int64_t> expiration_time(std::string text) {
  if (text.ends_with('Z') && text.find('.') == text.npos) text.insert(text.size() - 1, ".000");
  return base::parse_time(text);
}

result<credentials> read_document(const std::string& url, const std::string& body) {
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  const auto text = [&parsed](const char* name) { return base::text_in(parsed, name); };
  if (!parsed.is_object()) return out_of_reach(url + ": its answer is no JSON object");
  credentials out;
  out.key_id = text("AccessKeyId");
  out.secret = text("SecretAccessKey");
  out.session_token = text("Token");
  if (out.key_id.empty() || out.secret.empty()) {
    return out_of_reach(url + ": its answer has no access key");
  }
  if (const auto end = text("Expiration"); !end.empty()) {
    out.expires_at = expiration_time(end);
    if (!out.expires_at)
      return out_of_reach(url + ": its answer has an Expiration that is no time");
  }
  return out;
}

/// Amazon's own rule: the credentials of a container come over TLS, or from the machine itself.
bool may_be_asked(const std::string& url) {
  const auto parts = base::split_url(url);
  if (!parts.authority || parts.authority->find('@') != std::string_view::npos) return false;
  if (parts.scheme == "https") return true;
  if (parts.scheme != "http") return false;
  auto host = *parts.authority;
  if (host.starts_with('[')) {
    host = host.substr(0, host.find(']') + 1);
  } else {
    host = host.substr(0, host.find(':'));
  }
  return host == "localhost" || host.starts_with("127.") || host == "[::1]" ||
         host == "169.254.170.2" || host == "169.254.170.23" || host == "[fd00:ec2::23]";
}

result<credentials> ask_container(const std::string& url, milliseconds timeout) {
  if (!may_be_asked(url)) {
    return error(errc::invalid_argument,
                 "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine");
  }
  question wanted{url};
  auto token = environment_value("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const auto file = environment_value("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !file.empty()) {
    std::ifstream text(file);
    token.assign(std::istreambuf_iterator<char>(text), {});
    if (!text) return out_of_reach("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE can't be read");
  }
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.find_first_of("\r\n") != token.npos) {
    return error(errc::invalid_argument, "the container's authorization token has several lines");
  }
  if (!token.empty()) wanted.headers.push_back("Authorization: " + token);
  const auto body = ask(wanted, timeout);
  return body ? read_document(url, *body) : body.error();
}

result<credentials> ask_machine(milliseconds timeout) {
  auto root = environment_value("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (root.empty()) root = "http://169.254.169.254";
  while (root.ends_with('/')) root.pop_back();
  const auto token =
      ask({root + "/latest/api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds: 21600"}},
          timeout);
  if (!token) return token.error();
  if (token->find_first_of("\r\n") != token->npos) return out_of_reach(root + ": a broken token");
  const std::vector<std::string> headers{"X-aws-ec2-metadata-token: " + *token};
  const auto folder = root + "/latest/meta-data/iam/security-credentials/";
  const auto roles = ask({folder, "GET", headers}, timeout);
  if (!roles) return roles.error();
  const auto role = std::string(base::trim(roles->substr(0, roles->find_first_of("\r\n"))));
  if (role.empty()) return out_of_reach(folder + ": this machine has no role");
  const auto body = ask({folder + role, "GET", headers}, timeout);
  return body ? read_document(folder + role, *body) : body.error();
}

}  // namespace

result<credentials> fetch_served_credentials(milliseconds timeout) {
  if (const auto path = environment_value("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
      !path.empty()) {
    return ask_container("http://169.254.170.2" + path, timeout);
  }
  if (const auto url = environment_value("AWS_CONTAINER_CREDENTIALS_FULL_URI"); !url.empty()) {
    return ask_container(url, timeout);
  }
  if (base::iequals(environment_value("AWS_EC2_METADATA_DISABLED"), "true")) {
    return out_of_reach("AWS_EC2_METADATA_DISABLED forbids to ask the machine");
  }
  return ask_machine(timeout);
}

}  // namespace onceguard::aws
