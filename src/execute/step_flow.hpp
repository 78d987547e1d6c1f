// Recovery points: what the steps of an operation gave, in their order, and the flow of an
// attempt that goes on behind the last of them.
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

/// What the record keeps of them: docs/formats.md has its bytes. At most 4 GiB a name or gift.
[[nodiscard]] std::string encode_steps(const std::vector<step_done>& done);
/// The reverse; no bytes: no step. errc::record_unreadable: somebody else's bytes.
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

  /// Why the attempt is over, where it is.
  [[nodiscard]] const std::optional<error>& ended() const noexcept { return ended_; }

 protected:
  /// In one transaction: calls `progress`, which does the step's work and says what the record is
  /// to keep from then on, writes that, and commits. Throws attempt_ended, and what it throws.
  virtual void commit_step(std::string_view name, const std::function<std::string()>& progress) = 0;

 private:
  const record_id id_;
  const lease held_;
  std::vector<step_done> done_;
  std::size_t next_ = 0;
  std::optional<error> ended_;
};

/// What is told to an attempt whose lease is another's.
[[nodiscard]] error overtaken();

}  // namespace onceguard
