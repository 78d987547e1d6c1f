#include "messaging/kafka/bearer_token.hpp"

#include <array>
#include <cmath>

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/file_text.hpp"
#include "json/pointer.hpp"

namespace onceguard::messaging::kafka {
namespace {

constexpr std::size_t token_size_max = 64u << 10;
constexpr double latest_second = 1e11;

error no_token(const std::string& why) { return {errc::invalid_argument, why}; }

}  // namespace

result<bearer_token> read_token(std::string_view text) {
  const auto first = text.find('.');
  const auto second = first == text.npos ? first : text.find('.', first + 1);
  if (second == text.npos) return no_token("holds no JWT (three parts with dots between them)");
  const auto claims = base::from_base64url(text.substr(first + 1, second - first - 1));
  if (!claims) return no_token("holds a JWT whose claims are no base64url");
  json_cursor cursor{*claims};
  json_tree tree;
  if (!read_json(cursor, tree)) return no_token("holds a JWT whose claims are no JSON");
  bearer_token out;
  out.text = text;
  if (const auto subject = find_value(tree, "/sub");
      subject && tree.nodes[*subject].kind == json_kind::string) {
    out.principal = tree.text(tree.nodes[*subject].span);
  }
  const auto end = find_value(tree, "/exp");
  if (out.principal.empty() || !end || tree.nodes[*end].kind != json_kind::number) {
    return no_token("holds a JWT without sub or exp");
  }
  const auto seconds = tree.nodes[*end].number;
  if (!(seconds > 0) || seconds > latest_second) return no_token("holds a JWT with a wrong exp");
  out.expires = static_cast<std::int64_t>(std::floor(seconds * 1'000));
  return out;
}

result<bearer_token> read_token_file(const std::string& path) {
  const auto held = base::read_file(path, token_size_max);
  if (!held) return no_token(path + ": " + held.error().detail);
  auto out = read_token(base::trim(held->substr(0, held->find_last_not_of("\r\n") + 1)));
  if (!out) return no_token(path + ": " + out.error().detail);
  return out;
}

void renew_token(rd_kafka_t* client, const char* path, void* /*opaque*/) noexcept {
  const auto token = read_token_file(path);
  if (!token) {
    rd_kafka_oauthbearer_set_token_failure(client, token.error().detail.c_str());
    return;
  }
  std::array<char, 256> why{};
  const auto set =
      rd_kafka_oauthbearer_set_token(client, token->text.c_str(), token->expires,
                                     token->principal.c_str(), nullptr, 0, why.data(), why.size());
  if (set != RD_KAFKA_RESP_ERR_NO_ERROR) {
    const auto text = std::string(path) + ": " + why.data();
    rd_kafka_oauthbearer_set_token_failure(client, text.c_str());
  }
}

}  // namespace onceguard::messaging::kafka
