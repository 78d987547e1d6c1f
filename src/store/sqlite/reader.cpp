#include "store/sqlite/reader.hpp"

#include "base/number_in.hpp"
#include "store/sqlite/record_table.hpp"

namespace onceguard::sqlite {

reader::reader(const sqlite_params& params, std::unique_ptr<session> opened)
    : params_(params), absence_(params.recreate_after), session_(std::move(opened)) {
  queries_.emplace(*session_);
  thread_ = std::thread([this] { run(); });
}

void reader::stop() {
  queue_->close();
  if (thread_.joinable()) thread_.join();
}

void reader::run() {
  std::vector<call_ptr> calls;
  while (queue_->wait(calls, 1)) {
    if (calls.front()->take()) serve(static_cast<read_job&>(*calls.front()));
    deliver_all(calls);
  }
  close();
}

void reader::serve(read_job& job) {
  for (;;) {
    try {
      if (const auto why = make_ready()) return job.fail(*why);
      return job.carry_out(*queries_);
    } catch (const failure& failed) {
      // Busy: another process recovers the write-ahead log, or closes the file as its last user.
      if (failed.code() != SQLITE_BUSY) {
        // A damaged page is no fault of the connection.
        if (!is_damage(failed)) close();
        return job.fail(to_error(failed, params_.path, effect::none));
      }
    }
    wait_one_step();
  }
}

std::optional<error> reader::make_ready() {
  if (session_ && session_->still_there()) return std::nullopt;
  close();
  const auto missing = absence_.is_final(params_.path) ? if_missing::create : if_missing::fail;
  auto opened = session::open(params_, reading_for(params_), missing);
  if (!opened) return opened.error();
  session_ = std::move(*opened);
  queries_.emplace(*session_);
  return std::nullopt;
}

void reader::close() {
  queries_.reset();
  session_.reset();
}

}  // namespace onceguard::sqlite
