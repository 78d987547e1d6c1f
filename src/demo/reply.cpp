#include "demo/reply.hpp"

#include <nlohmann/json.hpp>

#include "base/json_reader.hpp"

namespace onceguard::demo {

reply no_answer() {
  reply none;
  none.lost = true;
  return none;
}

bool reply::replayed() const { return message.header("Idempotent-Replayed") == "true"; }

std::string reply::problem() const {
  if (!message.header("Content-Type").starts_with("application/problem+json")) return {};
  const auto problem = nlohmann::json::parse(message.body, nullptr, false);
  const auto type = base::text_in(problem, "type");
  return type.substr(type.find_last_of(":/") + 1);
}

std::string reply::in_words() const {
  if (lost) return "no answer";
  auto words = std::to_string(message.status);
  if (const auto type = problem(); !type.empty()) words += " " + type;
  if (replayed()) words += " (replayed)";
  return words;
}

}  // namespace onceguard::demo
