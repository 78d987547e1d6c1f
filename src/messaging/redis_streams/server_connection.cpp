#include "messaging/redis_streams/server_connection.hpp"

#include <array>

namespace onceguard::messaging::redis_streams {
namespace {

constexpr std::size_t read_size = 16'384;

[[noreturn]] void break_off(const std::string& why, effect known) {
  throw failed{error(errc::broker_unreachable, why, known)};
}

}  // namespace

std::string_view fault_in(const redisReply& got) noexcept {
  if (got.type != REDIS_REPLY_ERROR) return {};
  return {got.str, static_cast<std::size_t>(got.len)};
}

server_connection::server_connection(const server_address& server,
                                     const std::optional<tls::client_files>& tls, const login& user,
                                     moment until)
    : reader_(redisReaderCreate()) {
  if (!reader_) break_off("no memory for a connection", effect::none);
  if (auto done = socket_.connect(server.host, server.port, tls, until); !done) {
    throw failed{error(done.error().code, "no connection: " + done.error().detail)};
  }
  if (!user) return;
  const auto got = ask({"AUTH", user->first, user->second}, until);
  const auto refused = fault_in(*got);
  if (!refused.empty()) break_off("the login is refused: " + std::string(refused), effect::none);
}

std::vector<reply_ptr> server_connection::ask_all(std::span<const command> questions,
                                                  moment until) {
  std::string bytes;
  // It holds for one command, or from MULTI to EXEC: several questions are one transaction here.
  if (asking_) command{"ASKING"}.append_to(bytes);
  for (const auto& question : questions) question.append_to(bytes);
  send(bytes, until);
  if (asking_) static_cast<void>(read(until));
  std::vector<reply_ptr> out;
  while (out.size() < questions.size()) out.push_back(read(until));
  return out;
}

void server_connection::wait(moment until) {
  // Nothing was asked: what can be read is the end, or the server's reason for it.
  while (!take_arrived()) {
    if (base::boot_now() >= until) return;
    socket_.wait(false, until);
  }
  break_off("the server closed the connection", effect::none);
}

void server_connection::send(const std::string& bytes, moment until) {
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const auto count = socket_.write(rest);
    if (!count) break_off(count.error().detail, effect::unknown);
    rest.remove_prefix(*count);
    if (*count > 0) continue;
    if (base::boot_now() >= until) break_off("no answer in time", effect::unknown);
    socket_.wait(true, until);
  }
}

bool server_connection::take_arrived() {
  std::array<char, read_size> buffer;
  const auto count = socket_.read(buffer);
  if (!count) break_off(count.error().detail, effect::unknown);
  if (*count == 0) return false;
  if (redisReaderFeed(reader_.get(), buffer.data(), *count) == REDIS_OK) return true;
  break_off("the server's reply can't be read: " + std::string(reader_->errstr), effect::unknown);
}

reply_ptr server_connection::read(moment until) {
  while (true) {
    void* got = nullptr;
    if (redisReaderGetReply(reader_.get(), &got) != REDIS_OK) {
      break_off("the server's reply can't be read: " + std::string(reader_->errstr),
                effect::unknown);
    }
    if (got != nullptr) return reply_ptr(static_cast<redisReply*>(got));
    if (take_arrived()) continue;
    if (base::boot_now() >= until) break_off("no answer in time", effect::unknown);
    socket_.wait(false, until);
  }
}

}  // namespace onceguard::messaging::redis_streams
