// A trip that carries requests of many calls: one statement for all of a kind.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "store/postgres/batching/request.hpp"
#include "store/postgres/connection/trip.hpp"

namespace onceguard::postgres {

class dispatcher;

class batch_trip final : public trip {
 public:
  batch_trip(dispatcher& dispatcher, std::vector<entry> entries);

  [[nodiscard]] std::vector<statement_call> calls(std::int64_t connection) override;
  [[nodiscard]] bool confirms() const noexcept override { return confirms_; }
  void arrived(const std::vector<result_ptr>& results) override;
  void failed(const failure& why, effect_of_failure after) override;

  /// Puts the results into the requests. Throws unexpected_answer.
  void read(const std::vector<result_ptr>& results);

 private:
  friend class dispatcher;
  using request_list = std::vector<request*>;

  void call_completions(std::vector<statement_call>& out) const;
  void call_claims(std::vector<statement_call>& out, std::int64_t connection) const;
  void call_queries(std::vector<statement_call>& out) const;
  void call_single(std::vector<statement_call>& out, const request& one,
                   std::int64_t connection) const;
  void read_completions(const rows& rows);
  void read_claims(const rows& rows);
  void read_queries(const rows& rows);
  void read_single(request& one, const rows& rows);

  dispatcher& dispatcher_;
  std::vector<entry> entries_;
  request_list completions_, claims_, queries_, singles_;
  bool confirms_ = false;
  std::int64_t connection_ = 0;
};

}  // namespace onceguard::postgres
