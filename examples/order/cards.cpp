#include "cards.hpp"

#include <stdexcept>

#include <onceguard/client_beast.hpp>

namespace client = onceguard::client;

std::optional<std::string> cards::post(const std::string& path, const std::string& key,
                                       const std::string& body) {
  client::beast_transport transport;
  client::request request{"POST", url_ + path};
  request.key = key;
  request.body = body;
  const auto sent = client::send(transport, request);
  if (!sent) throw std::runtime_error(sent.error().detail);
  const auto& reply = sent->last.answer;
  if (sent->end == client::ending::success) return reply->body;
  // After an attempt that may have charged, a refusal of a later one is no answer to the question.
  if (sent->end == client::ending::refused && reply && reply->status == 402) return std::nullopt;
  throw std::runtime_error("the card's provider: " + std::string(sent->why));
}

std::optional<std::string> cards::charge(const std::string& key, const std::string& cents) {
  return post("/charges", key, cents);
}

void cards::refund(const std::string& key, const std::string& charge) {
  if (!post("/refunds", key, charge)) throw std::runtime_error("the refund was declined");
}
