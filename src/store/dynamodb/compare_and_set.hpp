// A claim, a settle or another call about one record on its way: what is sent next for it, and what
// the answer means. The state machine of include/onceguard/decide.hpp decides; conditional writes
// carry out.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "store/compare_and_set.hpp"
#include "store/dynamodb/record_reading.hpp"
#include "store/dynamodb/wire/request_bodies.hpp"

namespace onceguard::dynamodb {

/// What all kinds share. `begin` and `take` give the next request; without one, the act has ended.
class act {
 public:
  act(const record_id& id, const act_context& context) : id_(id), context_(context) {}
  virtual ~act() = default;
  act(act&&) = default;
  act& operator=(act&&) = delete;

  using request_type = request;
  using reading_type = reading;
  using context_type = act_context;

  /// What became of the last request.
  [[nodiscard]] std::optional<request> take(request done);

  [[nodiscard]] const record_id& id() const noexcept { return id_; }
  [[nodiscard]] bool has_written() const noexcept { return has_written_; }
  /// An unreadable record that operators can't find yet.
  [[nodiscard]] const std::optional<item>& to_note() const noexcept { return to_note_; }

 protected:
  [[nodiscard]] virtual std::optional<request> decide_on(const reading& seen) = 0;
  [[nodiscard]] virtual std::optional<request> meet_unreadable(const reading& seen) {
    return fail(*seen.unreadable);
  }
  /// The record that was decided on stands.
  [[nodiscard]] virtual std::optional<request> written() = 0;
  [[nodiscard]] virtual std::optional<request> fail(error why) = 0;
  /// The decision does not need the answer that a record has in pieces.
  void leave_answer_out() noexcept { needs_answer_ = false; }

  /// What a first claim is decided on.
  [[nodiscard]] reading nothing_seen() const {
    reading out;
    out.now = context_.time.now();
    return out;
  }
  [[nodiscard]] milliseconds retention_margin() const noexcept { return context_.retention_margin; }
  [[nodiscard]] static token first_token() noexcept { return 0; }  // never asked for
  [[nodiscard]] std::optional<request> read_again();
  /// Decides on the lease that this process holds, or reads the record first.
  [[nodiscard]] std::optional<request> decide_on_held(token token, const claim_id& claim_id);
  /// Replaces what was seen. An answer that is forgotten is counted.
  [[nodiscard]] std::optional<request> replace(const reading& seen, record stored, write_cause why);
  /// The lease of the record that was written is this process's.
  void hold();

  const record_id id_;
  const act_context context_;

 private:
  enum class stage : std::uint8_t { reading, writing, gathering, placing };

  [[nodiscard]] std::optional<request> meet(std::optional<item> found);
  [[nodiscard]] std::optional<request> decide_next(reading seen);
  [[nodiscard]] std::optional<request> gather(reading seen);
  [[nodiscard]] request ask_for_pieces();
  [[nodiscard]] std::optional<request> take_pieces(const request& done);
  [[nodiscard]] std::optional<request> put_next();
  void cut(record& stored);

  stage stage_ = stage::reading;
  bool needs_answer_ = true;
  // of the record to write
  stored_record pending_;
  record_item pending_item_;
  instant decided_at_;
  std::optional<item> replaced_;
  bool counts_ = false;
  bool has_written_ = false;
  bool doubtful_ = false;  ///< a try of the last write may have been carried out
  // of an answer that is written in pieces
  answer_ptr cut_answer_;
  piece_set cut_;
  std::vector<std::string> cut_texts_;
  std::size_t placed_ = 0;
  // of an answer that is read in pieces
  reading incomplete_;
  std::vector<std::optional<std::string>> pieces_;
  std::optional<piece_set> incomplete_before_;  ///< they were looked for in vain
  std::optional<item> to_note_;
};

using claim_act = onceguard::claim_act<act>;
using settle_act = onceguard::settle_act<act>;
using extend_act = onceguard::extend_act<act>;
using resolve_act = onceguard::resolve_act<act>;
using import_act = onceguard::import_act<act>;

struct question {
  record_id id{};
};
class find_act final : public act_of<act, question, std::optional<record_view>> {
 public:
  using act_of::act_of;
  [[nodiscard]] std::optional<request> begin() { return read_again(); }

 private:
  [[nodiscard]] std::optional<request> decide_on(const reading& seen) override;
  [[nodiscard]] std::optional<request> written() override { return std::nullopt; }
};

}  // namespace onceguard::dynamodb
