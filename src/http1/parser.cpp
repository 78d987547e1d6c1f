#include "http1/parser.hpp"

#include "base/ascii.hpp"

namespace onceguard::http1 {

/// The callbacks of llhttp. Each block is fed in one call, so that each span arrives complete.
struct callbacks {
  static parser& self(llhttp_t* machine) noexcept { return *static_cast<parser*>(machine->data); }

  static int on_method(llhttp_t* machine, const char* position, std::size_t length) noexcept {
    self(machine).method_ = {position, length};
    return 0;
  }
  static int on_target(llhttp_t* machine, const char* position, std::size_t length) noexcept {
    self(machine).target_ = {position, length};
    return 0;
  }
  static int on_reason(llhttp_t* machine, const char* position, std::size_t length) noexcept {
    self(machine).reason_ = {position, length};
    return 0;
  }
  static int on_name(llhttp_t* machine, const char* position, std::size_t length) noexcept {
    self(machine).name_ = {position, length};
    self(machine).value_ = {};
    return 0;
  }
  static int on_value(llhttp_t* machine, const char* position, std::size_t length) noexcept {
    self(machine).value_ = {position, length};
    return 0;
  }
  static int on_field(llhttp_t* machine) noexcept {
    auto& cut = self(machine);
    auto& target = cut.in_trailers_ ? cut.trailers_ : cut.fields_;
    // Never grows: there is room for as many fields as the scanner has counted, and a head that the
    // two cut differently is refused.
    if (target.size() == target.capacity()) return HPE_USER;
    target.push_back({cut.name_, base::trim(cut.value_)});
    return 0;
  }
  static int on_head(llhttp_t* machine) noexcept {
    self(machine).head_ended_ = true;
    return 0;
  }
  static int on_chunk_line(llhttp_t* machine) noexcept {
    self(machine).chunk_line_ended_ = true;
    self(machine).chunk_size_ = machine->content_length;
    return 0;
  }
  static int on_body(llhttp_t* machine, const char*, std::size_t length) noexcept {
    self(machine).body_bytes_ += length;
    return 0;
  }
  static int on_chunk(llhttp_t* machine) noexcept {
    self(machine).chunk_ended_ = true;
    return 0;
  }
  static int on_message(llhttp_t* machine) noexcept {
    self(machine).message_ended_ = true;
    return 0;
  }

  static const llhttp_settings_t* settings() noexcept {
    static const llhttp_settings_t table = [] {
      llhttp_settings_t made;
      llhttp_settings_init(&made);
      made.on_method = on_method;
      made.on_url = on_target;
      made.on_status = on_reason;
      made.on_header_field = on_name;
      made.on_header_value = on_value;
      made.on_header_value_complete = on_field;
      made.on_headers_complete = on_head;
      made.on_chunk_header = on_chunk_line;
      made.on_body = on_body;
      made.on_chunk_complete = on_chunk;
      made.on_message_complete = on_message;
      return made;
    }();
    return &table;
  }
};

parser::parser(reader::kind value) : kind_(value) {
  llhttp_init(&llhttp_, value == reader::kind::request ? HTTP_REQUEST : HTTP_RESPONSE,
              callbacks::settings());
  llhttp_.data = this;
}

void parser::restart() noexcept {
  llhttp_reset(&llhttp_);
  in_trailers_ = head_ended_ = message_ended_ = false;
  method_ = target_ = reason_ = {};
  fields_.clear();
  trailers_.clear();
}

llhttp_errno_t parser::feed(std::string_view bytes) noexcept {
  return llhttp_execute(&llhttp_, bytes.data(), bytes.size());
}

namespace {

constexpr std::string_view query_line = "QUERY ";
constexpr std::string_view known_like_query = "PATCH";

}  // namespace

std::optional<fault> parser::cut_head(std::string_view block, std::size_t field_count) {
  fields_.reserve(field_count);
  const bool query = kind_ == reader::kind::request && block.starts_with(query_line);
  // llhttp is older than QUERY (RFC 10008), which is framed like any method with a body.
  auto error = query ? feed(known_like_query) : HPE_OK;
  if (error == HPE_OK) error = feed(block.substr(query ? known_like_query.size() : 0));
  if (query) method_ = block.substr(0, known_like_query.size());
  // HPE_PAUSED_UPGRADE follows a head that requests another protocol.
  if (error != HPE_OK && error != HPE_PAUSED_UPGRADE) return fault_of(error);
  if (!head_ended_) return fault{400, "The head is malformed."};
  // llhttp also accepts methods of RTSP and ICE. llhttp itself refuses those of RTSP in HTTP.
  if (kind_ == reader::kind::request && llhttp_.method == HTTP_SOURCE) {
    return fault_of(HPE_INVALID_METHOD);
  }
  return std::nullopt;
}

std::optional<fault> parser::cut_chunk_line(std::string_view line) {
  chunk_line_ended_ = chunk_ended_ = false;
  const auto error = feed(line);
  if (error == HPE_OK && chunk_line_ended_) return std::nullopt;
  return fault{400, "A chunk's size or extension is malformed."};
}

std::optional<fault> parser::cut_chunk(std::string_view bytes) {
  body_bytes_ = 0;
  const auto error = feed(bytes);
  if (error == HPE_OK && body_bytes_ == bytes.size()) return std::nullopt;
  return fault{400, "A chunk is malformed."};
}

std::optional<fault> parser::cut_chunk_end(std::string_view bytes) {
  const auto error = feed(bytes);
  if (error == HPE_OK && chunk_ended_) return std::nullopt;
  return fault{400, "A chunk is not followed by a line end."};
}

std::optional<fault> parser::cut_trailers(std::string_view block, std::size_t field_count) {
  in_trailers_ = true;
  trailers_.reserve(field_count);
  const auto error = feed(block);
  if (message_ended_ && (error == HPE_OK || error == HPE_PAUSED_UPGRADE)) return std::nullopt;
  return fault{400, "A trailer field is malformed."};
}

fault parser::fault_of(llhttp_errno_t error) const noexcept {
  const bool request = kind_ == reader::kind::request;
  switch (error) {
    // The version was checked before, so the first two errors mean a method of RTSP or HTTP/2.
    case HPE_INVALID_CONSTANT:
    case HPE_INVALID_VERSION:
    case HPE_INVALID_METHOD:
      if (!request) return {400, "The status line is malformed."};
      return {501, "The request's method is not known here."};
    case HPE_INVALID_STATUS:
    case HPE_INVALID_URL:
      return {400, "The start line is malformed."};
    case HPE_INVALID_HEADER_TOKEN:
      return {400, "A header field is malformed."};
    case HPE_UNEXPECTED_CONTENT_LENGTH:
      return {400, "Content-Length is there more than once or beside Transfer-Encoding."};
    case HPE_INVALID_CONTENT_LENGTH:
      return {400, "Content-Length is not a decimal number, or too large."};
    case HPE_INVALID_TRANSFER_ENCODING:
      return {400, "Transfer-Encoding is not exactly 'chunked'."};
    default:
      return {400, "The message is malformed."};
  }
}

}  // namespace onceguard::http1
