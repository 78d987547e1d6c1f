// Gives the credentials that sign the next request, and renews those that expire.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <onceguard/error.hpp>
#include <onceguard/record.hpp>

#include "aws/credentials.hpp"
#include "base/clock.hpp"

namespace onceguard::aws {

/// Looks in the environment, then in the shared file, then at what the container or the machine
/// serves. Credentials that expire are fetched again by a thread of its own, five minutes before
/// they do. Thread-safe.
class credential_source {
 public:
  /// `service`: for people, "Amazon SQS". `timeout`: of a request to the container or the machine.
  explicit credential_source(std::string service, milliseconds timeout = milliseconds(1'000),
                             const base::clock& clock = base::system_clock());
  credential_source(const credential_source&) = delete;
  credential_source& operator=(const credential_source&) = delete;
  ~credential_source();

  /// Blocks only the first time, and while all that is known has expired. errc::invalid_argument:
  /// there are none.
  [[nodiscard]] result<credentials> current();
  /// The server says that these have expired: they are fetched anew, if they were fetched.
  void refuse(const credentials& expired);

 private:
  [[nodiscard]] bool fresh() const;
  [[nodiscard]] std::int64_t left() const;
  [[nodiscard]] result<credentials> find_first();
  void keep_renewing();

  const std::string service_;
  const milliseconds timeout_;
  const base::clock& clock_;
  std::mutex fetching_;  // held by whoever asks the container or the machine
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<credentials> known_;
  bool refused_ = false;
  bool stopping_ = false;
  std::thread renewing_;
};

}  // namespace onceguard::aws
