// Brokers by URL. Each adapter describes itself, and registers its description in the programs
// that link its component.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/broker.hpp>

namespace onceguard::messaging {

enum class broker_role : std::uint8_t { consumer, publisher };

/// What is known of a queue without a delivery of its messages.
struct queue_report {
  consumer_traits traits{};
  /// What may cost messages though nothing is wrong: what it is, and what to do.
  std::vector<std::pair<std::string, std::string>> weaknesses{};
};

/// What an adapter is. All texts and pointers are constants.
struct broker_kind {
  std::span<const std::string_view> schemes;  ///< of its URLs, without the colon
  std::string_view consumer_example;          ///< a URL, for people
  std::string_view publisher_example;
  /// Why the URL can't be right in this role; empty: it may be. Never repeats the URL, which may
  /// hold a password.
  std::string (*url_fault)(std::string_view url, broker_role role) = nullptr;
  result<std::unique_ptr<consumer>> (*open_consumer)(const broker_params& params) = nullptr;
  result<std::unique_ptr<publisher>> (*open_publisher)(const broker_params& params) = nullptr;
  /// Looks at the queue of a consumer, and takes nothing from it nor from other consumers. Null:
  /// that can't be done. Errors as for open_consumer.
  result<queue_report> (*examine)(const broker_params& params) = nullptr;
  /// Why a file that the URL names can't be used; empty: all can, or `url_fault` says more. Null:
  /// it names none.
  std::string (*files_fault)(std::string_view url, broker_role role) = nullptr;
  std::string_view library{};  ///< the file that it can't do without, as in base::library_fault
};

class broker_registration {
 public:
  /// Before main(). `kind` must live as long as the program.
  explicit broker_registration(const broker_kind& kind);
};

/// The broker that the URL's scheme names; null: none that this program was linked with.
[[nodiscard]] const broker_kind* broker_of(std::string_view url) noexcept;
/// Looks at the queue of a consumer; nullopt: this broker can't be looked at. Errors as for
/// open_consumer.
[[nodiscard]] result<std::optional<queue_report>> examine_queue(const broker_params& params);
/// Why the URL can't be right in this role; empty: it may be.
[[nodiscard]] std::string url_fault(std::string_view url, broker_role role);
/// The same, and whether the files that the URL names can be used.
[[nodiscard]] std::string setup_fault(std::string_view url, broker_role role);

}  // namespace onceguard::messaging
