// Consumes a table.
#pragma once
#include <memory>

#include "messaging/holding_consumer.hpp"
#include "messaging/postgres_queue/queue_connection.hpp"
#include "messaging/postgres_queue/statements.hpp"

namespace onceguard::messaging::postgres_queue {

/// What names a delivery in the database.
struct held_row {
  std::int64_t id = 0;
  std::string holder;
};

/// A delivery is held while its row names its holder: the database's clock ends the hold.
class queue_consumer final : public holding_consumer<held_row> {
 public:
  /// Throws `failed`.
  queue_consumer(const queue_url& url, const broker_params& params);

  [[nodiscard]] const consumer_traits& traits() const noexcept override { return traits_; }

 private:
  /// What `clear` found.
  struct clearance {
    bool again = false;                ///< there may be more now
    bool locked = false;               ///< others are at it
    std::optional<milliseconds> next;  ///< until a row becomes visible
  };

  [[nodiscard]] std::vector<delivery> fetch(std::size_t most, moment until) override;
  [[nodiscard]] moment prolong(held_row& row, moment end) override;
  void confirm(std::uint64_t tag, held_row& row) override;
  void put_back(std::uint64_t tag, held_row& row, milliseconds delay) override;
  void bury(std::uint64_t tag, held_row& row) override;
  [[nodiscard]] std::optional<std::uint64_t> count_waiting() override;
  [[nodiscard]] error refusal(errc code, std::string_view words) const override;

  void begin(const queue_url& url, const broker_params& params);
  void make(const queue_url& url, const broker_params& params, const error& missing);
  [[nodiscard]] std::vector<delivery> take(std::size_t most);
  /// The same with a statement for each row: those that can't be read are set aside.
  [[nodiscard]] std::vector<delivery> take_each(const parameters& values,
                                                const std::string& holder);
  void set_aside(std::int64_t id, const std::string& holder, const error& why);
  clearance clear();
  [[nodiscard]] delivery read(const rows& got, int row, const std::string& holder);
  void wait_full(moment until);
  /// Runs a statement that returns or changes the row, if the delivery still holds it.
  void change(const held_row& row, const std::string& statement,
              std::optional<milliseconds> duration = {});
  rows ask(const std::string& statement, const parameters& values = {}) {
    return value_of(server_->run(statement, values));
  }

  const consumer_traits traits_;
  const bool outbox_;
  const consumer_statements statements_;
  const std::unique_ptr<connection> server_;
  const milliseconds recheck_;
  std::int64_t window_;
  bool short_ = false;            // the last taking got fewer than it wanted
  std::int64_t parked_rows_ = 0;  // those that will never be visible, as they were counted last
};

}  // namespace onceguard::messaging::postgres_queue
