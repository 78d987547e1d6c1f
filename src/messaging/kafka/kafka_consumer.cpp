#include "messaging/kafka/kafka_consumer.hpp"

#include <algorithm>

#include "messaging/kafka/failure.hpp"
#include "messaging/kafka/kafka_publisher.hpp"
#include "messaging/kafka/wire_message.hpp"

namespace onceguard::messaging::kafka {
namespace {

using namespace std::chrono_literals;

/// Rebalances are looked for as often while nothing arrives.
constexpr milliseconds slice{50};
/// So many records may wait here for another attempt before no more are read.
constexpr std::size_t most_waiting = 1'000;

consumer_traits traits_of(const kafka_url& url) {
  consumer_traits out;
  out.hold = url.hold;
  out.delays = true;
  out.dead_letters = !url.dead_letters.empty();
  out.ordered = true;
  out.partitioned = true;
  out.bundled = true;
  return out;
}

setting_list consumer_settings(const kafka_url& url, const broker_params& params) {
  auto out = common_settings(url, params);
  const auto hold = std::to_string(url.hold.count());
  const auto heartbeat = std::clamp<milliseconds>(url.hold / 10, 100ms, 3'000ms);
  out.insert(out.end(), {
                            {"group.id", url.group},
                            // Those would commit what was handed out; only what is settled may be.
                            {"enable.auto.commit", "false"},
                            {"enable.auto.offset.store", "false"},
                            {"auto.offset.reset", url.start},
                            // Of a transaction that is aborted, no record may be handled.
                            {"isolation.level", "read_committed"},
                            // A rebalance takes away only the partitions that move; what runs for
                            // others goes on.
                            {"partition.assignment.strategy", "cooperative-sticky"},
                            // librdkafka refuses a max.poll.interval.ms that is less than the
                            // session's.
                            {"session.timeout.ms", hold},
                            {"max.poll.interval.ms", hold},
                            {"heartbeat.interval.ms", std::to_string(heartbeat.count())},
                            // librdkafka's own default is not to check.
                            {"check.crcs", "true"},
                            // What is read ahead takes memory, and is read again after a rebalance.
                            {"queued.min.messages", "1000"},
                            {"queued.max.messages.kbytes", "16384"},
                        });
  return out;
}

}  // namespace

kafka_consumer::kafka_consumer(const kafka_url& url, const broker_params& params)
    : holding_consumer(params.in_flight),
      url_(url),
      params_(params),
      traits_(traits_of(url)),
      joins_(std::make_unique<join_watch>(url.hold)),
      server_(RD_KAFKA_CONSUMER, url, params, consumer_settings(url, params),
              [this](rd_kafka_conf_t* conf) { configure(conf); }),
      records_(rd_kafka_queue_new(server_.raw())),
      commits_(server_, partitions_, *joins_, url.topic) {
  server_.require_topic(url.topic);
  if (!url.dead_letters.empty()) server_.require_topic(url.dead_letters);
  subscribe();
}

void kafka_consumer::configure(rd_kafka_conf_t* conf) {
  rd_kafka_conf_set_opaque(conf, this);
  joins_->install(conf);
  rd_kafka_conf_set_error_cb(conf,
                             [](rd_kafka_t* /*client*/, int code, const char* words, void* opaque) {
                               static_cast<kafka_consumer*>(opaque)->server_.note_error(
                                   static_cast<rd_kafka_resp_err_t>(code), words);
                             });
  rd_kafka_conf_set_rebalance_cb(conf, [](rd_kafka_t* /*client*/, rd_kafka_resp_err_t change,
                                          rd_kafka_topic_partition_list_t* list, void* opaque) {
    static_cast<kafka_consumer*>(opaque)->rebalance(change, list);
  });
}

void kafka_consumer::subscribe() {
  rd_kafka_poll_set_consumer(server_.raw());
  const partition_list wanted(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(wanted.get(), url_.topic.c_str(), RD_KAFKA_PARTITION_UA);
  const auto code = rd_kafka_subscribe(server_.raw(), wanted.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw failed{server_.failure("subscribe", code)};
}

kafka_consumer::~kafka_consumer() {
  const auto until = server_.deadline();
  // In a rebalance the group takes no commit for a while.
  while (!server_.broken() && !commits_.flush(until) && base::boot_now() < until) {
    keep(message_handle(rd_kafka_consumer_poll(server_.raw(), slice.count())));
  }
  if (!may_be_destroyed() || !leave()) {
    server_.abandon();
    static_cast<void>(joins_.release());  // its threads use it
  }
  // Their memory is librdkafka's.
  early_.clear();
  forget_all();
}

bool kafka_consumer::has_protocol() const {
  return std::string_view(rd_kafka_rebalance_protocol(server_.raw())) != "NONE";
}

bool kafka_consumer::may_be_destroyed() {
  // librdkafka 2.0.2 ends the process where a client is destroyed that knows the group's protocol,
  // and never got an assignment. While it does not know it, it can be kept from learning it.
  const auto until = server_.deadline() + url_.hold;
  if (assigned_once_) return true;
  if (!has_protocol()) {
    rd_kafka_unsubscribe(server_.raw());
    if (!has_protocol()) return true;
    static_cast<void>(caught([&] { subscribe(); }));
  }
  while (!assigned_once_ && base::boot_now() < until) {
    keep(message_handle(rd_kafka_consumer_poll(server_.raw(), slice.count())));
  }
  return assigned_once_;
}

bool kafka_consumer::leave() {
  // A client that is destroyed while a rebalance waits for its callback never comes to an end
  // (librdkafka 2.0.2): so also one whose brokers are away is closed, and its callbacks served.
  // Commits that wait for a broker hold it up for as long as a session lasts.
  const auto until = server_.deadline() + url_.hold;
  const queue_handle events(rd_kafka_queue_new(server_.raw()));
  const error_handle refused(rd_kafka_consumer_close_queue(server_.raw(), events.get()));
  while (!refused && rd_kafka_consumer_closed(server_.raw()) == 0) {
    if (base::boot_now() >= until) return false;
    rd_kafka_queue_poll_callback(events.get(), slice.count());
  }
  return true;
}

// --- receiving ----------------------------------------------------------------------------------

std::vector<delivery> kafka_consumer::fetch(std::size_t most, moment until) {
  std::vector<delivery> out;
  while (true) {
    const auto room = room_for(most);
    take(out, room);
    if (!out.empty() || base::boot_now() >= until) return out;
    wait_for_more(room > 0, until);
    catch_up();
  }
}

void kafka_consumer::take(std::vector<delivery>& out, std::size_t most) {
  const auto now = base::boot_now();
  while (out.size() < most) {
    auto again = partitions_.take_again(now);
    if (!again) break;
    out.push_back(hand_out(*std::move(again)));
  }
  while (out.size() < most && may_read()) {
    if (early_.empty()) keep(message_handle(rd_kafka_consume_queue(records_.get(), 0)));
    if (early_.empty()) return;
    auto next = partitions_.take(std::move(early_.front()));
    early_.pop_front();
    if (next) out.push_back(hand_out(*std::move(next)));
  }
}

delivery kafka_consumer::hand_out(record next) {
  delivery out;
  out.count = ++next.count;
  out.received = message_of(*next.raw);
  out.tag = hold(std::move(next));
  return out;
}

bool kafka_consumer::may_read() const {
  return !fault_ && partitions_.waiting_count() < std::max(most_waiting, params_.in_flight);
}

void kafka_consumer::wait_for_more(bool has_room, time_point until) {
  auto end = std::min<time_point>(until, base::boot_now() + slice);
  if (const auto due = partitions_.next_due(); due && has_room) end = std::min(end, *due);
  const bool reads = has_room && may_read();
  keep(message_handle(reads ? rd_kafka_consume_queue(records_.get(), remaining(end))
                            : rd_kafka_consumer_poll(server_.raw(), remaining(end))));
}

void kafka_consumer::keep(message_handle next) {
  if (!next) return;
  if (next->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    early_.push_back(std::move(next));
  } else if (!is_passing(next->err) && !fault_) {
    fault_ = server_.failure("consume", next->err);
  }
}

// --- what happens meanwhile ---------------------------------------------------------------------

void kafka_consumer::catch_up() {
  serve_events();
  server_.check();
  if (fault_) throw failed{*fault_};
  const auto silence = base::boot_now() - seen_;
  if (silence > url_.hold && !all_held().empty()) {
    // The process was stopped. The group may have gone on without it, and librdkafka need not know
    // yet: a commit tells.
    partitions_.uncommitted_all();
    if (!commits_.flush(server_.deadline())) {
      const auto now = base::boot_now();
      for (auto& [tag, each] : all_held()) partitions_.give_back(std::move(each.receipt), now);
      all_held().clear();
    }
    serve_events();
  }
  seen_ = base::boot_now();
  commits_.turn();
}

void kafka_consumer::serve_events() {
  while (auto* const next = rd_kafka_consumer_poll(server_.raw(), 0)) keep(message_handle(next));
}

void kafka_consumer::rebalance(rd_kafka_resp_err_t change, rd_kafka_topic_partition_list_t* list) {
  auto* const client = server_.raw();
  joins_->joined();
  // None: the consumer is closed before it was assigned anything.
  const bool cooperative = has_protocol();
  error_handle refused;
  if (change == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    add_partitions(list);
    refused.reset(cooperative ? rd_kafka_incremental_assign(client, list) : nullptr);
    if (!cooperative) rd_kafka_assign(client, list);
  } else {
    if (change == RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
      remove_partitions(list);
    } else {
      forget_all();
    }
    refused.reset(cooperative ? rd_kafka_incremental_unassign(client, list) : nullptr);
    if (!cooperative) rd_kafka_assign(client, nullptr);
  }
  if (refused && !fault_) {
    fault_ = server_.refusal(errc::broker_unreachable, std::string("the rebalance failed: ") +
                                                           rd_kafka_error_string(refused.get()));
  }
}

void kafka_consumer::add_partitions(rd_kafka_topic_partition_list_t* list) {
  assigned_once_ = true;
  const partition_list committed(rd_kafka_topic_partition_list_copy(list));
  const auto code =
      rd_kafka_committed(server_.raw(), committed.get(), remaining(server_.deadline()));
  const bool answered = code == RD_KAFKA_RESP_ERR_NO_ERROR;
  for (int i = 0; i < list->cnt; ++i) {
    auto& next = list->elems[i];
    const queue_handle incoming(
        rd_kafka_queue_get_partition(server_.raw(), next.topic, next.partition));
    if (incoming) rd_kafka_queue_forward(incoming.get(), records_.get());
    const auto* const found =
        rd_kafka_topic_partition_list_find(committed.get(), next.topic, next.partition);
    // Without an answer, librdkafka asks by itself where to begin.
    if (!answered || found == nullptr) {
      partitions_.add(next.partition, {});
    } else if (found->offset >= 0) {
      const auto* const note = static_cast<const char*>(found->metadata);
      const std::string_view text(note == nullptr ? "" : note, found->metadata_size);
      partitions_.add(next.partition, partition_progress(found->offset, text));
      next.offset = found->offset;
    } else {
      begin_partition(next);
    }
  }
}

void kafka_consumer::begin_partition(rd_kafka_topic_partition_t& begun) {
  std::int64_t oldest = 0;
  std::int64_t end = -1;
  if (url_.start == "latest") {
    const auto code = rd_kafka_query_watermark_offsets(
        server_.raw(), begun.topic, begun.partition, &oldest, &end, remaining(server_.deadline()));
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) begun.offset = end;
  }
  partitions_.add(begun.partition, partition_progress(begun.offset, ""));
  // Or what arrives until the first commit would be skipped after a crash.
  partitions_.uncommitted(begun.partition);
}

void kafka_consumer::remove_partitions(const rd_kafka_topic_partition_list_t* list) {
  // A partition that is lost already is another consumer's: the group would refuse the commit.
  if (rd_kafka_assignment_lost(server_.raw()) == 0 && !server_.broken()) {
    static_cast<void>(commits_.flush(server_.deadline()));
  }
  for (int i = 0; i < list->cnt; ++i) {
    const auto partition = list->elems[i].partition;
    partitions_.remove(partition);
    std::erase_if(all_held(), [partition](const auto& each) {
      return each.second.receipt.raw->partition == partition;
    });
    std::erase_if(early_, [partition](const auto& each) { return each->partition == partition; });
  }
}

// --- settling -----------------------------------------------------------------------------------

void kafka_consumer::forget_all() {
  partitions_.clear();
  all_held().clear();
}

void kafka_consumer::confirm(std::uint64_t /*tag*/, record& done) {
  partitions_.settle(*done.raw);
  commits_.turn();
}

void kafka_consumer::put_back(std::uint64_t /*tag*/, record& held, milliseconds delay) {
  partitions_.give_back(std::move(held), base::boot_now() + delay);
}

void kafka_consumer::bury(std::uint64_t tag, record& dead) {
  if (url_.dead_letters.empty()) {
    throw failed{
        refusal(errc::invalid_argument, "the URL has no dead_letters, a topic for dead letters")};
  }
  // Before the record is settled: a crash between the two repeats the letter, and loses no record.
  publish_dead_letter(*dead.raw);
  // Meanwhile the partition may have gone: then the record comes again, to another consumer.
  catch_up();
  const auto found = all_held().find(tag);
  if (found == all_held().end()) {
    throw failed{refusal(errc::not_found, "its partition was taken away")};
  }
  confirm(tag, found->second.receipt);
}

void kafka_consumer::publish_dead_letter(const rd_kafka_message_t& record) {
  if (letters_ == nullptr) {
    auto target = url_;
    target.topic = url_.dead_letters;
    letters_ = std::make_unique<kafka_publisher>(target, params_);
  }
  auto letter = message_of(record);
  letter.headers.emplace_back("onceguard-source", record_id_of(record));
  if (auto done = letters_->publish({&letter, 1}); !done) {
    letters_.reset();
    auto why = done.error();
    // It is not the consumer's connection that broke.
    why.code = errc::conflict;
    why.detail = "the dead letter was not published: " + why.detail;
    throw failed{std::move(why)};
  }
}

std::optional<std::uint64_t> kafka_consumer::count_waiting() {
  if (!assigned_once_) return std::nullopt;
  std::uint64_t out = partitions_.waiting_count();
  for (const auto& [partition, read] : partitions_.read_offsets()) {
    std::int64_t oldest = 0;
    std::int64_t end = 0;
    // As of the last answer of the broker: nobody is asked.
    const auto code =
        rd_kafka_get_watermark_offsets(server_.raw(), url_.topic.c_str(), partition, &oldest, &end);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR || end < 0) continue;
    const auto next = read >= 0 ? read : std::max<std::int64_t>(oldest, 0);
    out += static_cast<std::uint64_t>(std::max<std::int64_t>(end - next, 0));
  }
  return out;
}

}  // namespace onceguard::messaging::kafka
