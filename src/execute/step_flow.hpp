// Recovery points: the results of an operation's steps, in order, and the flow of an attempt that
// continues behind the last of them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onceguard/execute.hpp>

namespace onceguard {

struct step_done {
  std::string name;
  std::string gave;
  friend bool operator==(const step_done&, const step_done&) = default;
};

/// The steps as the record keeps them; docs/formats.md describes the bytes. At most 4 GiB per name
/// or result.
[[nodiscard]] std::string encode_steps(const std::vector<step_done>& done);
/// The reverse of encode_steps; no bytes mean no steps. errc::record_unreadable: bytes of another
/// program.
[[nodiscard]] result<std::vector<step_done>> decode_steps(std::string_view bytes);

/// Thrown through the caller's work when its attempt is over.
struct attempt_ended {
  error why;
};

class step_flow : public steps {
 public:
  step_flow(const record_id& id, const lease& held, std::vector<step_done> done)
      : id_(id), held_(held), done_(std::move(done)) {}

  std::string step(std::string_view name, const std::function<std::string()>& work) override;
  [[nodiscard]] std::string key_for(std::string_view purpose) const override;
  [[nodiscard]] const lease& held() const noexcept override { return held_; }

  /// Why the attempt is over; empty: it is not.
  [[nodiscard]] const std::optional<error>& ended() const noexcept { return ended_; }

 protected:
  /// In one transaction: calls `progress`, writes its result into the record, and commits.
  /// `progress` does the step's work, and returns the bytes that the record keeps from then on.
  /// Throws attempt_ended, and whatever `progress` throws.
  virtual void commit_step(std::string_view name, const std::function<std::string()>& progress) = 0;

 private:
  const record_id id_;
  const lease held_;
  std::vector<step_done> done_;
  std::size_t next_ = 0;
  std::optional<error> ended_;
};

/// The error for an attempt whose lease has been superseded.
[[nodiscard]] error overtaken();

}  // namespace onceguard
