// The common form of brokers' URLs: scheme://[user:password@]host[:port]/SEGMENT/…?name=value&…,
// where special characters are written as %XX.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

namespace onceguard::messaging {

/// What an adapter takes.
struct broker_url_form {
  std::uint16_t default_port = 0;
  std::size_t segments_min = 1;
  std::size_t segments_max = 1;
  std::span<const std::string_view> parameters;  ///< the names that it knows
  std::string_view example;                      ///< for people, in the text of faults
};

struct broker_url {
  std::string scheme;
  std::string host;  ///< an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::optional<std::pair<std::string, std::string>> login;  ///< user and password
  std::vector<std::string> segments;                         ///< none is empty
  std::vector<std::pair<std::string, std::string>> parameters;

  /// "amqp://host:port/queue": for people, without user, password and parameters.
  [[nodiscard]] std::string name() const;
  /// The value of the parameter; null: it is not given.
  [[nodiscard]] const std::string* parameter(std::string_view name) const noexcept;
};

/// errc::invalid_argument describes the fault. No error text contains a user, a password or the
/// value of a parameter.
[[nodiscard]] result<broker_url> parse_broker_url(std::string_view text,
                                                  const broker_url_form& form);

/// A URL for each server of one that names several with commas between them. The login stands
/// before the first.
[[nodiscard]] std::vector<std::string> urls_of_servers(std::string_view text);

/// Of a consumer's `hold`. Within less, nothing is settled: each message would come for ever.
inline constexpr milliseconds least_hold{100};

// For the readers of one broker's URLs. They throw `failed` with errc::invalid_argument.

[[noreturn]] void refuse_url(const std::string& fault);
/// Which is not empty; `otherwise` where the parameter is not given.
[[nodiscard]] std::string text_of(const broker_url& url, std::string_view name,
                                  std::string otherwise = {});
/// `yes` or `no`; `otherwise` where the parameter is not given.
[[nodiscard]] bool flag_of(const broker_url& url, std::string_view name, bool otherwise);
/// A duration such as `30s`; `otherwise` where the parameter is not given.
[[nodiscard]] milliseconds duration_of(const broker_url& url, std::string_view name,
                                       milliseconds otherwise);

}  // namespace onceguard::messaging
