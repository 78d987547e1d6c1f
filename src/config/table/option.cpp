#include "config/table/option.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/field.hpp"
#include "base/number_in.hpp"
#include "config/table/outcome_rules.hpp"
#include "config/table/parsers.hpp"

namespace onceguard::config {
namespace {

/// Collects the faults of one option.
class complaints {
 public:
  complaints(const option& spec, std::string_view title, remarks& out)
      : prefix_(std::string(title) + (title.empty() ? "" : " ") + std::string(spec.name) + ": "),
        out_(out) {}
  std::nullopt_t operator()(const origin& origin, const std::string& description) {
    out_.push_back({remark::grade::fault, origin, prefix_ + description});
    return std::nullopt;
  }

 private:
  std::string prefix_;
  remarks& out_;
};

std::string got(std::string_view text) { return ", got " + quoted(text); }

/// A complaint about the text by a parser of another room, which quotes it whole.
std::string without_secrets(std::string complaint, std::string_view text) {
  const auto whole = base::quoted(text);
  const auto found = complaint.find(whole);
  return found == complaint.npos ? complaint : complaint.replace(found, whole.size(), quoted(text));
}

/// Parses texts that mean a number: durations, sizes, statuses and whole numbers.
result<std::int64_t> number_of(const option& spec, std::string_view text) {
  if (spec.kind == value_kind::duration) {
    const auto read = parse_duration(text);
    if (!read) return read.error();
    return read->count();
  }
  if (spec.kind == value_kind::size) return parse_size(text);
  if (const auto value = base::number_in<std::int64_t>(text)) return *value;
  return error(errc::invalid_argument, "expected " + expectation(spec) + got(text));
}

std::optional<option_value> read_number(const option& spec, std::string_view text,
                                        const origin& origin, complaints& complain) {
  if (text.empty() && spec.may_be_empty) return option_value(std::int64_t{0});
  const auto number = number_of(spec, text);
  if (!number) return complain(origin, without_secrets(number.error().detail, text));
  if (*number < spec.min || *number > spec.max) {
    return complain(origin, "expected " + expectation(spec) + got(text));
  }
  return option_value(*number);
}

std::optional<option_value> read_word(const option& spec, std::string_view text,
                                      const origin& origin, complaints& complain) {
  if (spec.kind == value_kind::boolean) {
    if (text == "true") return option_value(true);
    if (text == "false") return option_value(false);
    return complain(origin, "expected true or false" + got(text));
  }
  const bool empty = text.empty() && spec.may_be_empty;
  if (spec.complaint != nullptr && !empty) {
    if (auto value = spec.complaint(text); !value.empty()) {
      return complain(origin, without_secrets(std::move(value), text));
    }
  }
  if (spec.kind == value_kind::text) {
    if (text.empty() && !spec.may_be_empty) return complain(origin, "must not be empty");
    return option_value(std::string(text));
  }
  const auto found = std::find(spec.choices.begin(), spec.choices.end(), text);
  if (found == spec.choices.end()) {
    const auto meant = nearest(text, spec.choices);
    return complain(origin,
                    "expected " + expectation(spec) + got(text) +
                        (meant.empty() ? "" : "; did you mean \"" + std::string(meant) + "\"?"));
  }
  return option_value(std::int64_t{found - spec.choices.begin()});
}

/// Adds an item to a list. False: a fault was reported.
bool add_item(const option& spec, std::string_view text, const origin& origin,
              std::vector<std::string>& items, complaints& complain) {
  if (spec.complaint != nullptr) {
    if (auto value = spec.complaint(text); !value.empty()) {
      complain(origin, without_secrets(std::move(value), text));
      return false;
    }
  }
  if (std::find(items.begin(), items.end(), text) != items.end()) {
    complain(origin, quoted(text) + " is there twice");
    return false;
  }
  items.emplace_back(text);
  return true;
}

bool add_outcome(const option& spec, std::string_view status, std::string_view word,
                 const origin& origin, outcome_list& items, complaints& complain) {
  if (auto value = outcome_complaint(status); !value.empty()) {
    complain(origin, value);
    return false;
  }
  if (std::find(spec.choices.begin(), spec.choices.end(), word) == spec.choices.end()) {
    complain(origin, "expected " + expectation(spec) + got(word));
    return false;
  }
  const auto same = [&](const auto& item) { return item.first == status; };
  if (std::any_of(items.begin(), items.end(), same)) {
    complain(origin, quoted(status) + " is there twice");
    return false;
  }
  items.emplace_back(status, word);
  return true;
}

std::string kind_text(const node& source) {
  switch (source.kind) {
    case node::type::boolean:
      return source.boolean ? "true" : "false";
    case node::type::integer:
      return "the number " + std::to_string(source.integer);
    case node::type::real:
      return "a floating-point number";
    case node::type::text:
      return quoted(source.text);
    case node::type::date_time:
      return "a date or time";
    case node::type::array:
      return "an array";
    case node::type::table:
      return "a table";
  }
  return {};
}

std::optional<option_value> read_items(const option& spec, const node& source,
                                       const std::string& file, layer where, complaints& complain) {
  bool fine = true;
  if (spec.kind == value_kind::list) {
    std::vector<std::string> items;
    if (spec.one_or_more && source.items.empty()) {
      return complain({where, file, source.line, source.column}, "must not be empty");
    }
    for (const auto& item : source.items) {
      const origin origin{where, file, item.line, item.column};
      if (item.kind != node::type::text) {
        complain(origin, "expected a text in quotes, got " + kind_text(item));
        fine = false;
      } else {
        fine = add_item(spec, item.text, origin, items, complain) && fine;
      }
    }
    return fine ? std::optional(option_value(std::move(items))) : std::nullopt;
  }
  outcome_list items;
  for (const auto& entry : source.members) {
    const origin origin{where, file, entry.line, entry.column};
    if (entry.value.kind != node::type::text) {
      complain(origin, "expected " + expectation(spec) + ", got " + kind_text(entry.value));
      fine = false;
    } else {
      fine = add_outcome(spec, entry.name, entry.value.text, origin, items, complain) && fine;
    }
  }
  return fine ? std::optional(option_value(std::move(items))) : std::nullopt;
}

}  // namespace

std::string option::variable() const {
  std::string out = "ONCEGUARD_";
  for (const char c : flag) {
    out += c == '-' ? '_' : (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

std::optional<option_value> read_text(const option& spec, std::string_view text,
                                      const origin& origin, std::string_view title, remarks& out) {
  complaints complain(spec, title, out);
  switch (spec.kind) {
    case value_kind::integer:
    case value_kind::size:
    case value_kind::duration:
    case value_kind::status:
      return read_number(spec, text, origin, complain);
    case value_kind::boolean:
    case value_kind::choice:
    case value_kind::text:
      return read_word(spec, text, origin, complain);
    case value_kind::list: {
      std::vector<std::string> items;
      bool fine = true;
      base::each_list_element(text, [&](std::string_view item) {
        fine = add_item(spec, item, origin, items, complain) && fine;
      });
      if (spec.one_or_more && fine && items.empty()) return complain(origin, "must not be empty");
      return fine ? std::optional(option_value(std::move(items))) : std::nullopt;
    }
    case value_kind::outcomes: {
      outcome_list items;
      bool fine = true;
      base::each_list_element(text, [&](std::string_view item) {
        const auto equals = item.rfind('=');
        const auto word = equals == item.npos ? std::string_view{} : item.substr(equals + 1);
        fine = add_outcome(spec, base::trim(item.substr(0, equals)), base::trim(word), origin,
                           items, complain) &&
               fine;
      });
      return fine ? std::optional(option_value(std::move(items))) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<option_value> read_node(const option& spec, const node& source,
                                      const std::string& file, layer where, std::string_view title,
                                      remarks& out) {
  complaints complain(spec, title, out);
  const origin origin{where, file, source.line, source.column};
  const auto refuse = [&] {
    return complain(origin, "expected " + expectation(spec) + ", got " + kind_text(source));
  };
  switch (spec.kind) {
    case value_kind::boolean:
      if (source.kind != node::type::boolean) return refuse();
      return option_value(source.boolean);
    case value_kind::integer:
      if (source.kind != node::type::integer) return refuse();
      return read_number(spec, std::to_string(source.integer), origin, complain);
    case value_kind::size:
    case value_kind::status:
      if (source.kind == node::type::integer) {
        return read_number(spec, std::to_string(source.integer), origin, complain);
      }
      [[fallthrough]];
    case value_kind::duration:
      if (source.kind != node::type::text) return refuse();
      return read_number(spec, source.text, origin, complain);
    case value_kind::choice:
    case value_kind::text:
      if (source.kind != node::type::text) return refuse();
      return read_word(spec, source.text, origin, complain);
    case value_kind::list:
      if (spec.one_or_more && source.kind == node::type::text) {
        std::vector<std::string> items;
        if (!add_item(spec, source.text, origin, items, complain)) return std::nullopt;
        return option_value(std::move(items));
      }
      if (source.kind != node::type::array) return refuse();
      return read_items(spec, source, file, where, complain);
    case value_kind::outcomes:
      if (source.kind != node::type::table) return refuse();
      return read_items(spec, source, file, where, complain);
  }
  return std::nullopt;
}

std::string toml_text(const option& spec, const option_value& value) {
  const auto in_quotes = [](std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + "\"";
  };
  const auto number = [&](std::int64_t n) -> std::string {
    switch (spec.kind) {
      case value_kind::duration:
        return spec.may_be_empty && n == 0 ? "\"\"" : in_quotes(duration_text(milliseconds(n)));
      case value_kind::size:
        return in_quotes(size_text(n));
      case value_kind::status:
        return n == 0 ? "\"\"" : in_quotes(std::to_string(n));
      case value_kind::choice:
        return in_quotes(spec.choices[static_cast<std::size_t>(n)]);
      default:
        return std::to_string(n);
    }
  };
  switch (value.index()) {
    case 0:
      return std::get<bool>(value) ? "true" : "false";
    case 1:
      return number(std::get<std::int64_t>(value));
    case 2:
      return in_quotes(std::get<std::string>(value));
    case 3: {
      std::string out;
      const auto& items = std::get<std::vector<std::string>>(value);
      if (spec.one_or_more && items.size() == 1) return in_quotes(items.front());
      for (const auto& item : items) {
        out += (out.empty() ? "" : ", ") + in_quotes(item);
      }
      return "[" + out + "]";
    }
    default: {
      std::string out;
      for (const auto& [status, word] : std::get<outcome_list>(value)) {
        out += (out.empty() ? " " : ", ") + in_quotes(status) + " = " + in_quotes(word);
      }
      return "{" + out + (out.empty() ? "}" : " }");
    }
  }
}

std::string expectation(const option& spec) {
  const auto words = [&] {
    std::string out;
    for (std::size_t i = 0; i < spec.choices.size(); ++i) {
      if (i > 0) out += i + 1 == spec.choices.size() ? " or " : ", ";
      out += "\"" + std::string(spec.choices[i]) + "\"";
    }
    return out;
  };
  const std::string or_empty = spec.may_be_empty ? ", or \"\"" : "";
  switch (spec.kind) {
    case value_kind::boolean:
      return "true or false";
    case value_kind::integer:
      return "a whole number from " + std::to_string(spec.min) + " to " + std::to_string(spec.max);
    case value_kind::size:
      return "a size from " + size_text(spec.min) + " to " + size_text(spec.max);
    case value_kind::duration:
      return "a duration from " + duration_text(milliseconds(spec.min)) + " to " +
             duration_text(milliseconds(spec.max)) + or_empty;
    case value_kind::choice:
      return words();
    case value_kind::status:
      return "a status from " + std::to_string(spec.min) + " to " + std::to_string(spec.max) +
             or_empty;
    case value_kind::text:
      return "a text in quotes";
    case value_kind::list:
      return spec.one_or_more ? "a text in quotes, or a list of texts" : "a list of texts";
    case value_kind::outcomes:
      return "statuses, classes or parts of an answer with " + words();
  }
  return {};
}

}  // namespace onceguard::config
