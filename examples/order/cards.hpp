// The provider of card payments: another service, over HTTP, that knows idempotency keys.
#pragma once
#include <optional>
#include <string>

class cards {
 public:
  explicit cards(std::string url) : url_(std::move(url)) {}

  /// Returns the charge; none: the card is declined. Throws std::runtime_error if the provider's
  /// answer is not known.
  std::optional<std::string> charge(const std::string& key, const std::string& cents);
  void refund(const std::string& key, const std::string& charge);

 private:
  std::optional<std::string> post(const std::string& path, const std::string& key,
                                  const std::string& body);
  const std::string url_;
};
