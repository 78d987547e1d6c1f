#include "messaging/kafka/committer.hpp"

#include <cstring>

#include "messaging/kafka/failure.hpp"

namespace onceguard::messaging::kafka {
namespace {

using namespace std::chrono_literals;

/// Brokers take 4096 bytes (offset.metadata.max.bytes) unless they are configured otherwise.
constexpr std::size_t longest_usual_note = 4'000;
/// Between two commits. Each of them may meet a JoinGroup that is just on its way.
constexpr milliseconds pause{50};

}  // namespace

committer::committer(connection& server, assignment& partitions, join_watch& joins,
                     std::string topic)
    : server_(server),
      partitions_(partitions),
      joins_(joins),
      topic_(std::move(topic)),
      answers_(rd_kafka_queue_new(server.raw())),
      longest_note_(longest_usual_note) {}

void committer::turn() {
  while (running_ && read_answer(base::boot_now())) {
  }
  if (fault_) throw failed{*fault_};
  if (!running_ && base::boot_now() >= again_at_) send();
}

bool committer::flush(time_point until) {
  while (running_) {
    if (!read_answer(until) && running_) return false;
  }
  return send() && (!running_ || read_answer(until));
}

bool committer::send() {
  if (!partitions_.has_commits()) return true;
  if (joins_.joins()) return false;
  const auto points = partitions_.take_commits(longest_note_);
  if (points.empty()) return true;
  const partition_list list(rd_kafka_topic_partition_list_new(static_cast<int>(points.size())));
  for (const auto& each : points) {
    auto* const next =
        rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), each.partition);
    next->offset = each.offset;
    if (each.note.empty()) continue;
    next->metadata = ::strdup(each.note.c_str());  // librdkafka frees it
    next->metadata_size = next->metadata == nullptr ? 0 : each.note.size();
  }
  const auto code =
      rd_kafka_commit_queue(server_.raw(), list.get(), answers_.get(), nullptr, nullptr);
  running_ = code == RD_KAFKA_RESP_ERR_NO_ERROR;
  again_at_ = base::boot_now() + pause;
  if (!running_) note_refusal(code, list.get());
  return running_;
}

rd_kafka_resp_err_t refusal_in(rd_kafka_resp_err_t code,
                               const rd_kafka_topic_partition_list_t* list) noexcept {
  for (int i = 0; code == RD_KAFKA_RESP_ERR_NO_ERROR && list != nullptr && i < list->cnt; ++i) {
    code = list->elems[i].err;
  }
  return code;
}

bool committer::read_answer(time_point until) {
  const event_handle answer(rd_kafka_queue_poll(answers_.get(), remaining(until)));
  if (!answer || rd_kafka_event_type(answer.get()) != RD_KAFKA_EVENT_OFFSET_COMMIT) return false;
  running_ = false;
  const auto* const list = rd_kafka_event_topic_partition_list(answer.get());
  const auto code = refusal_in(rd_kafka_event_error(answer.get()), list);
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return true;
  note_refusal(code, list);
  return false;
}

void committer::note_refusal(rd_kafka_resp_err_t code,
                             const rd_kafka_topic_partition_list_t* list) {
  for (int i = 0; list != nullptr && i < list->cnt; ++i) {
    partitions_.uncommitted(list->elems[i].partition);
  }
  if (code == RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS) joins_.note_rebalance();
  // In a rebalance, and after it, the group takes none of what is too old. It says by itself what
  // it took away.
  if (code == RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE ||
      code == RD_KAFKA_RESP_ERR_INVALID_COMMIT_OFFSET_SIZE) {
    longest_note_ /= 2;
  } else if (!is_passing(code)) {
    fault_ = server_.failure("commit", code);
  }
}

}  // namespace onceguard::messaging::kafka
