// Looks at the dead letters of a subscriber, and what was found there.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include <onceguard/guard.hpp>

#include "base/clock.hpp"
#include "cli/messages/letters.hpp"
#include "cli/services/letter_request.hpp"
#include "config/settings.hpp"
#include "consume/dead_letter_box.hpp"

namespace onceguard::cli::services {

/// How many are looked at: more than a person settles one by one.
inline constexpr std::size_t letters_max = 1'000;

/// The tables with this subscriber: each queue of dead letters once.
[[nodiscard]] std::vector<const consume::consume_params*> tables_of(
    const config::settings& settings, const std::string& name);
/// Whether a look is an act: it uses up what the broker counts.
[[nodiscard]] bool reading_is_counted(const config::settings& settings, const std::string& name);

/// A look that is kept for those who ask after it.
struct kept_listing {
  std::string body;
  bool whole = true;  ///< every queue was looked into
  base::boot_clock::time_point read_time{};
};
/// By listing_key(). They outlive a reload: where a look uses up what the broker counts, the last
/// one is all that a viewer sees.
using kept_listings = std::map<std::string, kept_listing>;
/// The subscriber and its queues of dead letters: with another queue, nobody has looked there.
[[nodiscard]] std::string listing_key(const config::settings& settings, const std::string& name);

/// What can be done with the letters of one table while its box is open.
using box_work = std::function<boost::asio::awaitable<result<void>>(
    consume::dead_letter_box&, std::vector<messages::known_letter>)>;
/// Takes the letters, works, and puts back what was not removed.
[[nodiscard]] boost::asio::awaitable<result<void>> with_box(const consume::consume_params& params,
                                                            guard& records, milliseconds timeout,
                                                            const box_work& work);

/// The letters of a subscriber, as they were read or left.
class letter_listing {
 public:
  explicit letter_listing(std::string name) : name_(std::move(name)) {}

  void add(const messages::known_letter& one);
  void add_more() { more_ = true; }
  /// Whatever keeps a queue from being looked into stands beside them.
  void add_fault(const error& why) { faults_.push_back(why.detail); }
  [[nodiscard]] const nlohmann::ordered_json& faults() const { return faults_; }
  /// `counted`: reading_is_counted(). `read`: false: nobody has looked yet.
  [[nodiscard]] std::string body(bool counted, bool read = true) const;

 private:
  const std::string name_;
  letter_names names_;
  nlohmann::ordered_json listed_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json faults_ = nlohmann::ordered_json::array();
  bool more_ = false;
};

/// All letters of a subscriber.
[[nodiscard]] boost::asio::awaitable<void> list_letters(const config::settings& settings,
                                                        guard& records, std::string name,
                                                        letter_listing& out);

}  // namespace onceguard::cli::services
