#include <algorithm>
#include <chrono>
#include <csignal>
#include <future>
#include <sys/wait.h>
#include <unistd.h>

#include <onceguard/command.hpp>

#include "base/clock.hpp"
#include "base/for_ever.hpp"
#include "base/hex.hpp"
#include "base/stoppable_wait.hpp"
#include "command/collected_output.hpp"
#include "command/command_attempt.hpp"
#include "command/old_run.hpp"
#include "command/output_queue.hpp"
#include "guard/blocking.hpp"
#include "process/child.hpp"

namespace onceguard {
inline namespace v1 {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> environment_of(const std::string& key, const lease& held) {
  return {"ONCEGUARD_IDEMPOTENCY_KEY=" + key, "ONCEGUARD_ATTEMPT=" + std::to_string(held.attempt),
          "ONCEGUARD_TOKEN=" + std::to_string(held.token)};
}

/// A variable, a word or a name of a directory ends before a NUL.
std::optional<error> complaint(const request& request, const command& command,
                               const command_rules& rules) {
  const auto has_nul = [](const std::string& text) { return text.find('\0') != text.npos; };
  const auto refuse = [](const char* why) {
    return error(errc::invalid_argument, std::string("run_command: ") + why);
  };
  if (command.words.empty() || command.words.front().empty()) return refuse("there is no program");
  bool nul = has_nul(request.key) || has_nul(command.folder);
  for (const auto& word : command.words) nul = nul || has_nul(word);
  for (const auto& [name, value] : command.environment) {
    nul = nul || has_nul(name) || has_nul(value);
    if (name.empty() || name.find('=') != name.npos) return refuse("a variable has no name");
  }
  if (nul) return refuse("a NUL stands in the key, the directory, a word or a variable");
  if (rules.timeout.count() < 0) return refuse("timeout is negative");
  if (rules.grace.count() < 0) return refuse("grace is negative");
  if (rules.every.count() < 0) return refuse("every is negative");
  return std::nullopt;
}

/// A settle on this thread needs a loop with descriptors, which may be used up by then.
void make_loop_of_settles() {
  const auto nothing = []() -> boost::asio::awaitable<outcome> { co_return outcome(); };
  static_cast<void>(run_here(nothing()));
}

refusal refused(error why) {
  outcome out;
  out.kind = outcome_kind::store_failed;
  out.failure = std::move(why);
  return refusal_of(out);
}

refusal lease_lost(const std::string& why) {
  refusal out;
  out.kind = refusal_kind::superseded;
  out.detail = why + "; it is unknown whether it took effect";
  return out;
}

/// They are for the thread of the caller.
void block_signals() noexcept {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

/// Closes a queue at the end of its block.
class closing {
 public:
  explicit closing(output_queue& queue) noexcept : queue_(queue) {}
  closing(const closing&) = delete;
  closing& operator=(const closing&) = delete;
  ~closing() { queue_.close(); }

 private:
  output_queue& queue_;
};

/// All attempts of one call.
class attempts {
 public:
  attempts(guard& guard, request request, const command& command, const command_rules& rules)
      : guard_(guard),
        request_(std::move(request)),
        command_(command),
        rules_(rules),
        policy_(rules.policy == nullptr ? guard.policy() : *rules.policy) {
    // The arguments may be secret.
    if (!request_.method.empty() || !request_.path.empty()) return;
    request_.method = "exec";
    request_.path = command_.words.front();
  }

  execution<command_result> run() {
    make_loop_of_settles();
    for (std::size_t left = rules_.retries;;) {
      const auto begin = base::boot_now();
      auto begun = guard_.claim(request_, policy_, rules_.stop);
      if (!begun.lease) {
        const auto kind = begun.outcome.kind;
        if (tried_ && kind == outcome_kind::backoff) {
          if (base::wait_unless(rules_.stop, begun.outcome.retry_after)) continue;
        } else if (tried_ && kind == outcome_kind::busy && left > 0) {
          // Somebody else's attempt, which counts as one of these.
          --left;
          if (base::wait_unless(rules_.stop, policy_.backoff)) continue;
        }
        if (!tried_ && kind == outcome_kind::replay) {
          const auto released = release_old_run(guard_, request_, rules_);
          if (!released) return refused(released.error());
          if (*released) continue;
        }
        return replay(begun.outcome);
      }
      auto made = run_once(std::move(*begun.lease), begin);
      tried_ = true;
      const bool again = made && !made->replayed && left > 0 &&
                         made->value.settled == settle_kind::fail && !rules_.stop.stop_requested();
      if (!again) return made;
      --left;
    }
  }

 private:
  execution<command_result> replay(const outcome& got) {
    auto out = replayed_value<command_result>(got);
    if (out && rules_.on_output && !show(out->value, rules_.on_output)) {
      out->value.why = "not all of the first run's output was kept";
    }
    return out;
  }

  struct settled_attempt {
    outcome settled;
    command_result result;
    bool lost_lease = false;
  };

  static std::string fault_of(std::future<settled_attempt>& attempt) {
    try {
      static_cast<void>(attempt.get());
      return {};
    } catch (const std::exception& fault) {
      return fault.what();
    }
  }

  execution<command_result> run_once(lease_handle held, process::time_point begin) {
    const auto file = rules_.output_folder.empty()
                          ? std::string()
                          : rules_.output_folder + '/' + base::to_hex(held.id()) + '-' +
                                std::to_string(held.lease().token) + ".output";
    output_queue queue(rules_.output_folder, rules_.keep_in_file);
    collected_output output(rules_, file);
    command_attempt run(command_, rules_, output, rules_.on_output ? &queue : nullptr);
    // The command, its lease and its settle are not held up by whoever is shown the output.
    std::future<settled_attempt> attempt;
    bool ready = false;
    const auto make = [&] {
      block_signals();
      const closing at_the_end(queue);
      make_loop_of_settles();
      ready = true;
      return attempt_once(std::move(held), begin, run, output);
    };
    try {
      attempt = std::async(std::launch::async, make);
    } catch (const std::exception& fault) {
      return without_a_thread(std::move(held), begin, fault.what());
    }
    try {
      while (auto piece = queue.take()) rules_.on_output(piece->stream, piece->bytes);
    } catch (...) {
      run.give_up();
      attempt.wait();
      throw;
    }
    attempt.wait();
    if (!ready) return without_a_thread(std::move(held), begin, fault_of(attempt));
    auto done = attempt.get();
    if (done.lost_lease && done.settled.kind != outcome_kind::replay) {
      return lease_lost(done.result.why);
    }
    if (done.settled.kind != outcome_kind::ran) return replay(done.settled);
    return settled_value<command_result>(done.settled, std::move(done.result));
  }

  /// The attempt's thread could not be made, or could do nothing: this one releases the key.
  execution<command_result> without_a_thread(lease_handle held, process::time_point begin,
                                             const std::string& why) {
    auto ended = nothing_run(why);
    ended.terms.retention = retention_since(begin);
    auto settled = guard_.settle(std::move(held), std::move(ended.terms));
    if (settled.kind != outcome_kind::ran) return replay(settled);
    return settled_value<command_result>(settled, std::move(ended.result));
  }

  settled_attempt attempt_once(lease_handle held, process::time_point begin, command_attempt& run,
                               collected_output& output) {
    auto environment = environment_of(request_.key, held.lease());
    environment.push_back("ONCEGUARD_RECORD_LEASE=" + held.text());
    attempt_lease lease{held.stop_when_lost(), policy_.lease, [&held] { return held.left(); }};
    attempt_result ended;
    try {
      if (rules_.stop.stop_requested()) {
        ended = nothing_run("a stop was requested before the command began");
      } else if (!held.begin_sending()) {
        // This process may have been stopped since the claim.
        ended = nothing_run("too little of the lease was left before the command began");
      } else {
        ended = run.run(std::move(environment), std::move(lease));
      }
    } catch (const std::exception& fault) {
      if (run.started()) throw;
      ended = nothing_run(fault.what());
    }
    if (run.given_up()) {
      ended.terms = {};
      ended.terms.kind = settle_kind::abandon;
      ended.terms.why = unknown_reason::abandoned;
    }
    ended.terms.retention = retention_since(begin);
    ended.terms.backoff = policy_.backoff;
    ended.terms.backoff_max = policy_.backoff_max;
    auto& result = ended.result;
    const bool complete = result.settled == settle_kind::complete;
    output.move_to(result);
    if (complete) output.keep_file(result, ended.terms.retention);
    if (complete) {
      ended.terms.answer = std::make_shared<const answer>(codec<command_result>::encode(result));
    }
    std::optional<settlement> again;
    if (complete && !result.output.empty()) {
      again = settle_lease(held.id(), held.lease(), std::make_shared<const subject>(held.about()),
                           ended.terms);
    }
    auto settled = guard_.settle(std::move(held), std::move(ended.terms));
    if (again && settled.kind == outcome_kind::unrecorded) {
      settle_in_little_room(std::move(*again), result, settled);
    }
    return {std::move(settled), std::move(result), ended.lost_lease};
  }

  /// A store without room for the output may have some for the exit code: a finished run shall not
  /// become an unknown one. The settle with all output, which goes on in the background, then finds
  /// the record completed.
  void settle_in_little_room(settlement wanted, const command_result& made, outcome& settled) {
    auto reply = settle_now(wanted);
    if (!reply && reply.error().code == errc::store_full && reply.error().effect == effect::none) {
      auto rest = made;
      rest.output.clear();
      wanted.answer = std::make_shared<const answer>(codec<command_result>::encode(rest));
      reply = settle_now(wanted);
    }
    if (!reply || reply->outcome == settle_outcome::stale) return;
    settled = {};
    settled.kind = outcome_kind::ran;
    settled.settled_as = settle_kind::complete;
  }

  result<onceguard::settled> settle_now(const settlement& wanted) {
    try {
      std::vector<settlement> batch(1, wanted);
      auto replies = run_here(guard_.records().settle(std::move(batch), guard_.store_timeout()));
      return std::move(replies.front());
    } catch (const std::exception& fault) {
      return error(errc::store_unreachable, fault.what(), effect::unknown);
    }
  }

  /// A period counts from the claim, however long the command takes.
  [[nodiscard]] milliseconds retention_since(process::time_point begin) const {
    if (rules_.every.count() <= 0) return policy_.retention;
    const auto took = std::chrono::duration_cast<milliseconds>(base::boot_now() - begin);
    return std::max(least_period(rules_.every) - took, 1ms);
  }

  guard& guard_;
  request request_;
  const command& command_;
  const command_rules& rules_;
  const route_policy& policy_;
  bool tried_ = false;
};

}  // namespace

execution<command_result> run_command(guard& guard, const request& request, const command& command,
                                      const command_rules& rules) {
  if (auto wrong = complaint(request, command, rules)) return refused(std::move(*wrong));
  return attempts(guard, request, command, rules).run();
}

std::string command_fingerprint(const command& command) {
  std::string out;
  for (const auto& word : command.words) out += std::to_string(word.size()) + ':' + word;
  return out;
}

std::function<effect_report(const subject&, const lease&)> probe_by_command(command command,
                                                                            milliseconds timeout,
                                                                            std::stop_token stop) {
  return [question = std::move(command), timeout, stop = std::move(stop)](const subject& about,
                                                                          const lease& held) {
    effect_report report;
    if (timeout.count() < 0) {
      report.why = "probe_by_command: timeout is negative";
      return report;
    }
    command_rules rules;
    rules.timeout = timeout;
    rules.grace = 1s;
    rules.success = {0, 1};
    rules.failure = settle_kind::abandon;
    collected_output output(rules, {});
    command_attempt asked(question, rules, output, nullptr);
    const std::stop_callback on_stop(stop, [&asked] { asked.give_up(); });
    auto made = asked.run(environment_of(about.key, held), {});
    output.move_to(made.result);
    for (const auto& piece : made.result.output) {
      if (piece.stream != output_stream::err) continue;
      static_cast<void>(::write(STDERR_FILENO, piece.bytes.data(), piece.bytes.size()));
    }
    if (asked.given_up()) {
      report.why = "the question was ended by a stop request";
    } else if (made.result.settled != settle_kind::complete) {
      report.why = made.result.why;
    } else if (made.result.exit_code == 1) {
      report.status = effect_status::not_done;
    } else {
      report.status = effect_status::done;
      std::erase_if(made.result.output,
                    [](const output_piece& piece) { return piece.stream == output_stream::err; });
      made.result.output_size = 0;
      for (const auto& piece : made.result.output) made.result.output_size += piece.bytes.size();
      report.answer = std::make_shared<const answer>(codec<command_result>::encode(made.result));
    }
    return report;
  };
}

}  // namespace v1
}  // namespace onceguard
