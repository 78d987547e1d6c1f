#include "store/journal/reader.hpp"

#include <pthread.h>

namespace onceguard::journal {

reader::reader(const journal_params& params, open_journal& opened)
    : params_(params), queries_(opened), queue_(params.make_queue([this] { run(); })) {
  if (params.run_soon) {
    run();  // finds nothing: the first call begins a turn
    return;
  }
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "og-reader");
    run();
  });
}

void reader::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
  if (params_.run_soon) run();
}

bool reader::take_calls(std::vector<call_ptr>& calls) {
  return params_.run_soon ? queue_->poll(calls) : queue_->wait(calls, 1);
}

void reader::run() {
  std::vector<call_ptr> calls;
  while (take_calls(calls)) {
    for (const auto& queued : calls) {
      if (queued->take()) static_cast<read_job&>(*queued).carry_out(queries_);
    }
    deliver_all(calls);
  }
}

}  // namespace onceguard::journal
