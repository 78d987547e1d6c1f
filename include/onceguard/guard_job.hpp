// Work of guard::start that is finished later. Included by guard.hpp.
#pragma once
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <onceguard/guard.hpp>

namespace onceguard {
inline namespace v1 {

template <storable T>
class job {
 public:
  /// The job that is moved from is finished.
  job(job&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)),
        policy_(other.policy_),
        held_(std::move(other.held_)),
        done_(std::move(other.done_)) {}
  job& operator=(job&&) = delete;
  ~job() {
    if (owner_ == nullptr) return;
    held_.reset();  // the engine logs this, and settles the record as unknown
    outcome lost;
    lost.kind = outcome_kind::unknown;
    done_(refusal_of(lost));
  }

  /// The lease under which the work runs.
  [[nodiscard]] running lease() noexcept { return running(*held_); }
  /// The work ended with this result.
  void finish(T value) && {
    settle(terms_of_result(codec<T>::encode(value), *policy_), std::move(value));
  }
  /// The work ended with this exception.
  void fail(std::exception_ptr thrown) && {
    settle_terms terms;
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (...) {
      terms = terms_of_exception(*policy_);
    }
    settle(std::move(terms), std::nullopt);
  }

 private:
  friend class guard;
  job(guard& owner, std::shared_ptr<const route_policy> policy, lease_handle held,
      callable<void(execution<T>)> done)
      : owner_(&owner),
        policy_(std::move(policy)),
        held_(std::move(held)),
        done_(std::move(done)) {}

  void settle(settle_terms terms, std::optional<T> made) {
    auto* const owner = std::exchange(owner_, nullptr);
    if (owner == nullptr) throw std::logic_error("onceguard::job: finished twice");
    owner->settle_job(
        std::move(*held_), std::move(terms),
        [done = std::move(done_), made = std::move(made), kept = policy_](outcome ended) mutable {
          // Of work that failed, the outcome is unknown at least to this call.
          if (!made && ended.kind == outcome_kind::ran) {
            ended.kind = ended.settled_as == settle_kind::abandon ? outcome_kind::unknown
                                                                  : outcome_kind::backoff;
          }
          done(settled_value<T>(ended, std::move(made)));
        });
  }

  guard* owner_;
  std::shared_ptr<const route_policy> policy_;  // outlives the lease
  std::optional<lease_handle> held_;
  callable<void(execution<T>)> done_;
};

template <storable T>
void guard::start(request request, route_policy policy, callable<void(job<T>)> work,
                  callable<void(execution<T>)> done) {
  auto kept = std::make_shared<const route_policy>(std::move(policy));
  begin_job(std::move(request), *kept,
            [this, kept, work = std::move(work), done = std::move(done)](claim_result begun) {
              if (!begun.lease) return done(replayed_value<T>(begun.outcome));
              work(job<T>(*this, kept, std::move(*begun.lease), done));
            });
}

}  // namespace v1
}  // namespace onceguard
