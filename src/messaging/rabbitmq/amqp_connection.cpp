#include "messaging/rabbitmq/amqp_connection.hpp"

#include <algorithm>
#include <utility>

namespace onceguard::messaging::rabbitmq {
namespace {

/// The body of a message grows with what arrives, whatever size its head promises.
constexpr std::uint64_t reserved_at_once = 1'048'576;

}  // namespace

connection::connection(const address& where, channel_listener& listener)
    : framed_connection(where.url),
      where_(where),
      listener_(listener),
      decoder_(amqp_new_connection()) {}

result<void> connection::state() const {
  if (broken_) return *broken_;
  if (channel_closed_) return *channel_closed_;
  return {};
}

std::size_t connection::frame_max() const {
  return static_cast<std::size_t>(amqp_get_frame_max(decoder_.get()));
}

result<void> connection::open(const std::string& name, moment until) {
  if (!decoder_) return fault(errc::broker_unreachable, "no memory");
  if (auto done = connect(where_.tls, until); !done) return done;
  return log_in(name, until);
}

result<void> connection::open_channel(moment until) {
  channel_closed_.reset();
  amqp_channel_open_t fields{amqp_bytes_t{}};
  return call(AMQP_CHANNEL_OPEN_METHOD, &fields, AMQP_CHANNEL_OPEN_OK_METHOD, until);
}

void connection::close(moment until) {
  if (broken_ || !logged_in_) return;
  if (!blocked_.empty()) return;  // the broker does not read what would be said
  closing_ = true;
  amqp_connection_close_t fields{AMQP_REPLY_SUCCESS, bytes_of("done"), 0, 0};
  if (append_method(outgoing(), 0, AMQP_CONNECTION_CLOSE_METHOD, &fields)) await_end(until);
}

result<void> connection::call(amqp_method_number_t id, void* fields, amqp_method_number_t answer,
                              moment until) {
  if (auto usable = state(); !usable) return usable;
  if (!append_method(outgoing(), the_channel, id, fields)) {
    return fault(errc::conflict, "AMQP can't carry the request");
  }
  return await(answer, until);
}

result<void> connection::await(amqp_method_number_t answer, moment until) {
  awaited_ = answer;
  return wait_for([this] { return awaited_ == 0; }, until);
}

std::string connection::end_hint() const {
  if (!login_sent_ || logged_in_) return {};
  return where_.external ? " amid the login: has it a user of the certificate's name?"
                         : " amid the login: wrong password?";
}

void connection::take_bytes(std::string_view bytes) {
  while (!bytes.empty() && !broken_) {
    amqp_frame_t frame{};
    const int used = amqp_handle_input(decoder_.get(), bytes_of(bytes), &frame);
    if (used <= 0) {
      end(fault(errc::broker_unreachable,
                std::string("an answer that is not of AMQP: ") + amqp_error_string2(used)));
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(used));
    if (frame.frame_type != 0) take(frame);
    // The decoder keeps what it has decoded until it may reuse the memory.
    amqp_maybe_release_buffers(decoder_.get());
  }
}

void connection::take(const amqp_frame_t& frame) {
  switch (frame.frame_type) {
    case AMQP_FRAME_METHOD:
      if (frame.channel == 0) return take_connection_method(frame.payload.method);
      if (frame.channel == the_channel) take_channel_method(frame.payload.method);
      return;
    case AMQP_FRAME_HEADER: {
      const auto& head = frame.payload.properties;
      content_ = read_head(*static_cast<const amqp_basic_properties_t*>(head.decoded));
      missing_ = head.body_size;
      content_->received.payload.reserve(std::min(missing_, reserved_at_once));
      if (missing_ == 0) finish_content();
      return;
    }
    case AMQP_FRAME_BODY:
      return take_body(text_of(frame.payload.body_fragment));
    case AMQP_FRAME_HEARTBEAT:
      return;
    default:
      end(fault(errc::broker_unreachable, "the broker's protocol is not AMQP 0-9-1"));
  }
}

void connection::take_body(std::string_view part) {
  if (!content_ || part.size() > missing_) {
    end(fault(errc::broker_unreachable, "an answer that is not of AMQP: a body without a head"));
    return;
  }
  content_->received.payload += part;
  missing_ -= part.size();
  if (missing_ == 0) finish_content();
}

void connection::finish_content() {
  auto complete = std::move(*content_);
  content_.reset();
  listener_.take_content(std::move(complete));
}

void connection::take_channel_method(const amqp_method_t& method) {
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD) {
    return take_channel_close(*static_cast<const amqp_channel_close_t*>(method.decoded));
  }
  if (method.id == awaited_) awaited_ = 0;
  listener_.take_method(method);
}

void connection::take_channel_close(const amqp_channel_close_t& closed) {
  const auto code = closed.reply_code == AMQP_NOT_FOUND ? errc::not_found : errc::conflict;
  channel_closed_ = fault(code, broker_words(closed.reply_text));
  content_.reset();
  amqp_channel_close_ok_t fields{};
  static_cast<void>(append_method(outgoing(), the_channel, AMQP_CHANNEL_CLOSE_OK_METHOD, &fields));
}

void connection::take_connection_method(const amqp_method_t& method) {
  if (method.id == awaited_) awaited_ = 0;
  switch (method.id) {
    case AMQP_CONNECTION_START_METHOD:
      return take_start(*static_cast<const amqp_connection_start_t*>(method.decoded));
    case AMQP_CONNECTION_TUNE_METHOD:
      return take_tune(*static_cast<const amqp_connection_tune_t*>(method.decoded));
    case AMQP_CONNECTION_OPEN_OK_METHOD:
      logged_in_ = true;
      return;
    case AMQP_CONNECTION_CLOSE_METHOD:
      return take_connection_close(*static_cast<const amqp_connection_close_t*>(method.decoded));
    case AMQP_CONNECTION_CLOSE_OK_METHOD:
      if (closing_) end(fault(errc::broker_unreachable, "the connection is closed"));
      return;
    case AMQP_CONNECTION_BLOCKED_METHOD:
      blocked_ = text_of(static_cast<const amqp_connection_blocked_t*>(method.decoded)->reason);
      if (blocked_.empty()) blocked_ = "it does not say why";
      return;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      blocked_.clear();
      unblocked_at_ = base::boot_now();
      return;
    default:
      return;
  }
}

void connection::take_connection_close(const amqp_connection_close_t& closed) {
  amqp_connection_close_ok_t fields{};
  if (append_method(outgoing(), 0, AMQP_CONNECTION_CLOSE_OK_METHOD, &fields)) {
    // As much as the system takes: the connection ends in any case.
    write_last();
  }
  auto code = errc::broker_unreachable;
  std::string why = "the broker closed the connection: " + broker_words(closed.reply_text);
  if (!logged_in_ && closed.reply_code == AMQP_ACCESS_REFUSED) {
    why = std::string("the broker refuses the ") +
          (where_.external ? "name in the certificate: " : "user or the password: ") +
          broker_words(closed.reply_text);
  } else if (!logged_in_ && closed.reply_code != AMQP_CONNECTION_FORCED) {
    code = errc::conflict;  // such as a virtual host that is missing
  }
  end(fault(code, why));
}

/// RabbitMQ names the user where it refuses something; details of errors do not.
std::string connection::broker_words(amqp_bytes_t text) const {
  std::string out(text_of(text));
  const auto named = "user '" + where_.user + "'";
  if (const auto begin = out.find(named); begin != out.npos) {
    out.replace(begin, named.size(), "the user");
  }
  return out;
}

moment connection::next_heartbeat() const noexcept {
  if (where_.heartbeat.count() == 0) return moment::max();
  constexpr int beats_per_interval = 2;  // in which the broker wants to have got one
  return last_sent_ + milliseconds(where_.heartbeat) / beats_per_interval;
}

void connection::beat() {
  if (!broken_ && !pending() && base::boot_now() >= next_heartbeat()) {
    append_heartbeat(outgoing());
  }
}

}  // namespace onceguard::messaging::rabbitmq
