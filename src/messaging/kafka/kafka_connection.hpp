// A client of librdkafka: its configuration, and what it tells of the brokers. librdkafka connects
// again by itself, and finds the leaders of partitions anew: a broker that goes away is no error as
// long as another one answers.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onceguard/broker.hpp>

#include "base/clock.hpp"
#include "messaging/failed_call.hpp"
#include "messaging/kafka/handles.hpp"
#include "messaging/kafka/kafka_url.hpp"

namespace onceguard::messaging::kafka {

using time_point = base::boot_clock::time_point;

/// Names and values of librdkafka's configuration.
using setting_list = std::vector<std::pair<std::string, std::string>>;

/// What consumers and publishers have in common.
[[nodiscard]] setting_list common_settings(const kafka_url& url, const broker_params& params);

/// Whole milliseconds until then, as librdkafka takes them: not below zero.
[[nodiscard]] int remaining(time_point until) noexcept;

class connection {
 public:
  /// Sets what is no text in a configuration: the callbacks, and what they get.
  using conf_setter = std::function<void(rd_kafka_conf_t*)>;

  /// Connects nothing yet. Throws `failed`.
  connection(rd_kafka_type_t type, const kafka_url& url, const broker_params& params,
             const setting_list& settings, const conf_setter& set = {});
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  /// Without any wait for the brokers.
  ~connection();

  [[nodiscard]] rd_kafka_t* raw() const noexcept { return raw_; }
  /// For people.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] milliseconds timeout() const noexcept { return timeout_; }
  [[nodiscard]] time_point deadline() const noexcept { return base::boot_now() + timeout_; }

  /// Asks the brokers for the topic. Throws `failed`: errc::not_found: there is none.
  void require_topic(const std::string& topic);
  /// Finds out whether a broker still answers, where that is in doubt. Throws `failed`.
  void check();
  [[nodiscard]] bool broken() const noexcept { return broken_.has_value(); }
  /// As broken from now on.
  void give_up(error why);
  /// It is not destroyed, as that would never return: its memory is lost.
  void abandon() noexcept { abandoned_ = true; }
  /// Of the callback for errors.
  void note_error(rd_kafka_resp_err_t code, const char* words);
  /// The error of a call that failed, with what librdkafka said last.
  [[nodiscard]] error failure(std::string_view action, rd_kafka_resp_err_t code) const;
  [[nodiscard]] error refusal(errc code, std::string_view text) const;

 private:
  /// Nullopt: no answer. `until`: no longer than that.
  [[nodiscard]] std::optional<rd_kafka_resp_err_t> ask_for_topic(rd_kafka_topic_t* topic,
                                                                 time_point until);

  const std::string name_;
  const milliseconds timeout_;
  rd_kafka_t* raw_ = nullptr;
  bool doubtful_ = false;  ///< a connection broke, and nobody asked since
  bool all_down_ = false;  ///< all brokers went away, and none has answered since
  bool abandoned_ = false;
  std::string last_words_;
  std::optional<error> broken_;
};

}  // namespace onceguard::messaging::kafka
