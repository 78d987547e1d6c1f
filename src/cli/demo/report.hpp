// The output of the demo.
#pragma once
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/demo/guard.hpp"
#include "cli/demo/scenes.hpp"
#include "cli/demo/shop.hpp"

namespace onceguard::cli::demo {

class report {
 public:
  virtual ~report() = default;
  virtual void begin(const shop& cards, const guard& limit) = 0;
  virtual void add(const scene& played) = 0;
  virtual void add(const overhead& measured) = 0;
  /// Ends the report. `fault` is the error that ended the demo early, if any.
  virtual void end(bool right, const std::optional<std::string>& fault) = 0;
};

/// For a person: line by line during the demo, in colours if `coloured`.
[[nodiscard]] std::unique_ptr<report> make_story(std::ostream& out, bool coloured);
/// For a program: one JSON object at the end.
[[nodiscard]] std::unique_ptr<report> make_json_report(std::ostream& out);

}  // namespace onceguard::cli::demo
