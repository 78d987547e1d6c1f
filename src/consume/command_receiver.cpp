#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "consume/handler_output.hpp"
#include "consume/receiver.hpp"
#include "core/kept_key.hpp"
#include "process/child.hpp"

namespace onceguard::consume {
namespace {

using messaging::handling;
using messaging::not_handled;

constexpr int exit_temporary = 75;  // EX_TEMPFAIL of sysexits.h
constexpr int exit_bad_data = 65;   // EX_DATAERR
/// So often the guardian learns of a renewed lease: the shortest one is a second.
constexpr milliseconds longest_poll{100};

/// A header's name as CGI has it (RFC 3875): X_GITHUB_EVENT.
std::string variable_name(std::string_view header) {
  std::string out(header);
  for (auto& c : out) {
    const bool letter = c >= 'a' && c <= 'z';
    const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) c = static_cast<char>(c - 'a' + 'A');
    if (!letter && !kept) c = '_';
  }
  return out;
}

class command final : public receiver {
 public:
  explicit command(const consume_params& params) : params_(params), output_(params.subscriber) {}

  handling take(const handover& given) override {
    const auto end = base::boot_now() + params_.timeout;
    auto input = process::make_input_pipe();
    if (!input) return not_begun(input.error().detail);
    process::child_params start;
    start.words = params_.command;
    start.environment = environment_for(given);
    auto output = output_.begin(core::kept_key(given.id), given.attempt);
    if (!output) return not_begun(output.error().detail);
    start.streams = {input->there.get(), output->get(), output->get()};
    start.limit = limit_of(given, end);
    auto running = process::child::start(start);
    if (!running && running.error().number == E2BIG) {  // by the headers of this message
      return not_handled(inbox_result::failed, running.error().detail);
    }
    if (!running && running.error().may_have_begun) {
      return not_handled(inbox_result::unknown, running.error().detail,
                         unknown_reason::upstream_broken);
    }
    if (!running) return not_begun(running.error().detail);
    input->there.close();
    output->close();
    std::string_view payload = given.received->payload;
    const auto in_time = [&](auto done) {
      while (!done(std::min(end, base::boot_now() + longest_poll))) {
        if (base::boot_now() >= end) return false;
        running->limit(limit_of(given, end));
      }
      return true;
    };
    const auto fed =
        in_time([&](auto until) { return process::feed(input->here, payload, until); });
    if (!fed) return timed_out();
    if (!in_time([&](auto until) { return running->wait(until); })) return timed_out();
    if (running->time_is_over()) return lost_lease();
    running->leave();
    return outcome_of(running->status());
  }

 private:
  [[nodiscard]] std::vector<std::string> environment_for(const handover& given) const {
    // An id with a NUL in it has no form in an environment.
    const auto id = given.id.find('\0') == std::string::npos ? given.id : given.key;
    // In front: of two values with the same name a program finds the first.
    std::vector<std::string> out{"ONCEGUARD_MESSAGE_ID=" + id,
                                 "ONCEGUARD_IDEMPOTENCY_KEY=" + given.key,
                                 "ONCEGUARD_ATTEMPT=" + std::to_string(given.attempt),
                                 "ONCEGUARD_SUBSCRIBER=" + params_.subscriber};
    for (const auto& name : params_.headers) {
      const auto* value = messaging::header_of(*given.received, name);
      const bool has_form = value != nullptr && value->find('\0') == std::string::npos;
      // Set in any case: the consumer's own environment is not the message's.
      out.push_back("ONCEGUARD_HEADER_" + variable_name(name) + "=" + (has_form ? *value : ""));
    }
    return process::environment_behind(std::move(out));
  }

  /// It is no message's fault.
  static handling not_begun(const std::string& why) {
    auto out = not_handled(inbox_result::failed, why);
    out.away = true;
    return out;
  }

  /// The guardian holds it, also while this process is stopped. The timeout is held here, just
  /// before.
  [[nodiscard]] process::run_limit limit_of(const handover& given, process::time_point end) const {
    const auto now = base::boot_now();  // before the lease is looked at: not too late
    process::run_limit out;
    out.end = end + milliseconds(1'000);
    if (given.lease != nullptr) {
      const auto before = process::killed_before_end(params_.inbox.lease);
      out.end = std::min(out.end, now + given.lease->left() - before);
    }
    return out;
  }

  [[nodiscard]] handling lost_lease() const {
    return not_handled(inbox_result::unknown,
                       params_.command.front() + " was ended, as the time of its lease was over",
                       unknown_reason::abandoned);
  }

  [[nodiscard]] handling timed_out() const {
    return not_handled(inbox_result::unknown,
                       params_.command.front() + " did not end within its timeout, and was killed",
                       unknown_reason::upstream_timeout);
  }

  [[nodiscard]] handling outcome_of(std::optional<int> status) const {
    const auto& name = params_.command.front();
    if (!status || WIFSIGNALED(*status)) {
      return not_handled(
          inbox_result::unknown,
          name + " ended by signal " + std::to_string(status ? WTERMSIG(*status) : SIGKILL),
          unknown_reason::upstream_broken);
    }
    const int code = WEXITSTATUS(*status);
    const auto text = name + " ended with " + std::to_string(code);
    if (code == 0) return {};
    if (code == exit_temporary) return not_handled(inbox_result::failed, text);
    if (code == exit_bad_data) return not_handled(inbox_result::dead, text);
    return not_handled(inbox_result::unknown, text, unknown_reason::upstream_status);
  }

  const consume_params params_;
  handler_output output_;
};

}  // namespace

std::unique_ptr<receiver> make_command_receiver(const consume_params& params) {
  return std::make_unique<command>(params);
}

}  // namespace onceguard::consume
