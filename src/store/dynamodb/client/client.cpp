#include "store/dynamodb/client/client.hpp"

#include <algorithm>
#include <curl/curl.h>
#include <list>
#include <new>

#include "aws/jitter.hpp"
#include "store/batch_queue.hpp"

namespace onceguard::dynamodb {
namespace {

constexpr milliseconds first_pause{25};
constexpr unsigned most_doublings = 5;  // 0.8 s
constexpr milliseconds least_try{50};
constexpr unsigned most_connects = 3;  // of a request that nobody takes
constexpr int longest_poll_ms = 1'000;

/// A request on its way.
struct transfer {
  std::shared_ptr<dynamodb::job> job;
  dynamodb::request* request = nullptr;
  aws::credentials signer{};
  unsigned attempts = 0;
  bool doubtful = false;  ///< an earlier try may have been carried out
  std::optional<error> last{};
  steady_time ready_at{};
  std::unique_ptr<aws::signed_request> exchange{};
};
using transfer_list = std::list<transfer>;

/// The part of the time that is left which the next try may take.
milliseconds time_of_try(milliseconds left, milliseconds shortest) {
  return left <= 2 * shortest ? left : std::max(left * 3 / 5, shortest);
}

}  // namespace

/// What belongs to the thread.
class client::loop {
 public:
  explicit loop(client& owner) : owner_(owner), multi_(static_cast<CURLM*>(owner.multi_.get())) {}

  void run() {
    for (bool open = true; open || !idle();) {
      std::vector<call_ptr> calls;
      // Closed is looked at first: a call that came before is then in the queue.
      open = !owner_.queue_->closed();
      while (owner_.queue_->poll(calls)) accept(calls);
      begin_ready();
      int running = 0;
      curl_multi_perform(multi_, &running);
      take_ended();
      deliver_all(finished_);
      if (open || !idle()) curl_multi_poll(multi_, nullptr, 0, pause(), nullptr);
    }
  }

 private:
  [[nodiscard]] bool idle() const { return waiting_.empty() && under_way_.empty(); }

  void accept(std::vector<call_ptr>& calls) {
    for (auto& each : calls) {
      if (!each->take()) continue;
      const auto whole = std::static_pointer_cast<job>(each);
      for (auto& part : whole->parts) waiting_.push_back({.job = whole, .request = &part});
    }
    calls.clear();
  }

  /// What became of a try that is cut off is not known, and so of one with no time for an answer. A
  /// first try has whatever time its caller gave.
  [[nodiscard]] static bool leaves_time(const transfer& part, base::boot_clock::time_point begin) {
    const auto needed = part.attempts > 0 ? least_try : milliseconds(0);
    return begin + needed < part.job->give_up_at;
  }

  void begin_ready() {
    const auto now = base::boot_now();
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      const auto here = it++;
      if (!leaves_time(*here, now)) {
        lapse(here, waiting_);
      } else if (here->ready_at <= now && under_way_.size() < owner_.params_.requests_at_once) {
        begin(here);
      }
    }
  }

  void begin(transfer_list::iterator which) {
    const auto signer = owner_.credentials_->current();
    if (!signer) {
      return fail(which, waiting_,
                  error(errc::store_unreachable,
                        owner_.params_.target.name() + ": " + signer.error().detail));
    }
    which->signer = *signer;
    if (!idle_.empty()) {
      which->exchange = std::move(idle_.back());
      idle_.pop_back();
    } else {
      which->exchange = std::make_unique<aws::signed_request>();
    }
    const auto left = left_until(which->job->give_up_at);
    const auto limit = time_of_try(left, owner_.params_.shortest_try);
    which->exchange->prepare(owner_.params_.target.service(), *signer, which->request->action,
                             which->request->body, {limit, limit});
    auto* const handle = which->exchange->handle();
    owner_.requests_.fetch_add(1, std::memory_order_relaxed);
    under_way_.splice(under_way_.end(), waiting_, which);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, &*which);
    curl_multi_add_handle(multi_, handle);
  }

  void take_ended() {
    int left = 0;
    while (auto* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const int code = static_cast<int>(message->data.result);
      transfer* which = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &which);
      curl_multi_remove_handle(multi_, message->easy_handle);
      const auto found = std::find_if(under_way_.begin(), under_way_.end(),
                                      [which](const transfer& each) { return &each == which; });
      if (code == 0) {
        take(found, found->exchange->take_answer());
      } else {
        take_broken(found, found->exchange->failure_of(code));
      }
    }
  }

  void take(transfer_list::iterator which, aws::answer got) {
    const auto seen = read_outcome(got);
    auto& request = *which->request;
    if (seen.remedy == remedy::take) {
      request.condition_failed = seen.condition_failed;
      request.doubtful = which->doubtful;
      request.answer = std::move(got.body);
      return end(which, under_way_);
    }
    if (seen.no_table && owner_.params_.on_no_table) owner_.params_.on_no_table();
    which->doubtful = which->doubtful || seen.doubtful;
    auto why = to_error(owner_.params_.target, got.status, seen);
    if (seen.expired) owner_.credentials_->refuse(which->signer);
    if (seen.remedy == remedy::fail) return fail(which, under_way_, std::move(why));
    again(which, std::move(why));
  }

  void take_broken(transfer_list::iterator which, aws::broken_exchange broken) {
    which->doubtful = which->doubtful || broken.sent;
    error why(errc::store_unreachable, owner_.params_.target.name() + ": " + broken.why);
    why.lasting = broken.lasting;
    if (!broken.sent && which->attempts + 1 >= most_connects) {
      return fail(which, under_way_, std::move(why));
    }
    again(which, std::move(why));
  }

  void again(transfer_list::iterator which, error why) {
    const auto pause = aws::jittered(which->attempts++, first_pause, most_doublings);
    which->ready_at = base::boot_now() + pause;
    if (!leaves_time(*which, which->ready_at)) return fail(which, under_way_, std::move(why));
    which->last = std::move(why);
    owner_.repeats_.fetch_add(1, std::memory_order_relaxed);
    idle_.push_back(std::move(which->exchange));
    waiting_.splice(waiting_.end(), under_way_, which);
  }

  void lapse(transfer_list::iterator which, transfer_list& holder) {
    const auto why = which->last.value_or(
        error(errc::store_unreachable,
              owner_.params_.target.name() + ": the request was not sent within its timeout"));
    fail(which, holder, why);
  }

  void fail(transfer_list::iterator which, transfer_list& holder, error why) {
    why.effect = which->request->writes && which->doubtful ? effect::unknown : effect::none;
    which->request->failed = std::move(why);
    end(which, holder);
  }

  void end(transfer_list::iterator which, transfer_list& holder) {
    if (which->exchange) idle_.push_back(std::move(which->exchange));
    if (which->job->ended_one()) finished_.push_back(which->job);
    holder.erase(which);
  }

  [[nodiscard]] int pause() const {
    auto out = milliseconds(longest_poll_ms);
    for (const auto& each : waiting_) {
      const bool full = under_way_.size() >= owner_.params_.requests_at_once;
      const auto next =
          full ? each.job->give_up_at
               : std::min(std::max(each.ready_at, base::boot_now()), each.job->give_up_at);
      out = std::min(out, left_until(next) + milliseconds(1));
    }
    return static_cast<int>(out.count());
  }

  client& owner_;
  CURLM* const multi_;
  transfer_list waiting_;
  transfer_list under_way_;
  std::vector<std::unique_ptr<aws::signed_request>> idle_;
  std::vector<call_ptr> finished_;
};

client::client(client_params params, std::shared_ptr<aws::credential_source> credentials)
    : params_(std::move(params)), credentials_(std::move(credentials)) {
  aws::signed_request prepared;  // libcurl is, from here on
  multi_ = std::shared_ptr<void>(
      curl_multi_init(), [](void* handle) { curl_multi_cleanup(static_cast<CURLM*>(handle)); });
  if (!multi_) throw std::bad_alloc();
  auto* const multi = static_cast<CURLM*>(multi_.get());
  // All of them are kept: a new one costs a handshake of TLS.
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(params_.requests_at_once));
  queue_ = std::make_shared<batch_queue>([multi] { curl_multi_wakeup(multi); });
  thread_ = std::thread([this] { loop(*this).run(); });
}

client::~client() { stop(); }

std::vector<store_number> client::numbers() const {
  auto out = queue_->numbers();
  out.push_back({"onceguard_store_requests_total", "Requests that were sent to DynamoDB.",
                 static_cast<double>(requests_.load(std::memory_order_relaxed))});
  out.push_back({"onceguard_store_request_repeats_total",
                 "Requests that were sent again: throttled, failed or unanswered.",
                 static_cast<double>(repeats_.load(std::memory_order_relaxed))});
  return out;
}

void client::stop() {
  const std::lock_guard lock(stopping_);
  queue_->close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace onceguard::dynamodb
