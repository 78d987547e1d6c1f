#include "store/journal/reader.hpp"

#include <pthread.h>
#include <vector>

namespace onceguard::journal {

reader::reader(open_journal& opened) : queries_(opened) {
  thread_ = std::thread([this] { run(); });
}

void reader::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
}

void reader::run() {
  ::pthread_setname_np(::pthread_self(), "og-reader");
  std::vector<call_ptr> calls;
  while (queue_->wait(calls, 1)) {
    if (calls.front()->take()) static_cast<read_job&>(*calls.front()).carry_out(queries_);
    deliver_all(calls);
  }
}

}  // namespace onceguard::journal
