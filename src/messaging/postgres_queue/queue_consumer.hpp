// Consumes a table.
#pragma once
#include <map>
#include <memory>

#include <onceguard/broker.hpp>

#include "messaging/postgres_queue/connection.hpp"
#include "messaging/postgres_queue/statements.hpp"

namespace onceguard::messaging::postgres_queue {

class queue_consumer final : public consumer {
 public:
  [[nodiscard]] static result<std::unique_ptr<consumer>> open(const broker_params& params);

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return traits_; }
  [[nodiscard]] result<std::vector<delivery>> receive(std::size_t most, milliseconds wait) override;
  [[nodiscard]] result<void> extend(std::uint64_t tag) override;
  [[nodiscard]] result<void> acknowledge(std::uint64_t tag) override;
  [[nodiscard]] result<void> give_back(std::uint64_t tag, milliseconds delay) override;
  [[nodiscard]] result<void> dead_letter(std::uint64_t tag) override;
  [[nodiscard]] result<std::optional<std::uint64_t>> backlog() override;

 private:
  using instant = base::boot_clock::time_point;
  /// What names a delivery in the database.
  struct held_row {
    std::int64_t id = 0;
    std::string holder;
  };
  /// What `clear` found.
  struct clearance {
    bool again = false;                ///< there may be more now
    bool locked = false;               ///< others are at it
    std::optional<milliseconds> next;  ///< until a row becomes visible
  };

  queue_consumer(const queue_url& url, const broker_params& params,
                 std::unique_ptr<connection> server);
  [[nodiscard]] result<void> begin(const queue_url& url, const broker_params& params);
  [[nodiscard]] static result<void> make(const queue_url& url, const broker_params& params,
                                         const error& missing);
  [[nodiscard]] result<std::vector<delivery>> take(std::size_t most);
  /// The same with a statement for each row: those that can't be read are set aside.
  [[nodiscard]] result<std::vector<delivery>> take_each(const parameters& values,
                                                        const std::string& holder);
  [[nodiscard]] result<void> set_aside(std::int64_t id, const std::string& holder,
                                       const error& why);
  [[nodiscard]] result<clearance> clear();
  [[nodiscard]] delivery read(const rows& got, int row, const std::string& holder);
  [[nodiscard]] result<void> wait_full(instant until);
  /// Settled by a statement that returns or changes the row, if the delivery still holds it.
  [[nodiscard]] result<void> change(std::uint64_t tag, const std::string& statement,
                                    const milliseconds* duration, bool settles);

  const consumer_traits traits_;
  const bool outbox_;
  const std::size_t in_flight_;
  const consumer_statements statements_;
  const std::unique_ptr<connection> server_;
  const milliseconds recheck_;
  std::map<std::uint64_t, held_row> held_;
  std::uint64_t last_tag_ = 0;
  std::int64_t window_;
  bool short_ = false;            // the last taking got fewer than it wanted
  std::int64_t parked_rows_ = 0;  // those that will never be visible, as they were counted last
};

}  // namespace onceguard::messaging::postgres_queue
