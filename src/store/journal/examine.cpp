#include "store/journal/examine.hpp"

#include <filesystem>
#include <sys/stat.h>

#include "store/disk_diagnosis.hpp"
#include "store/examination.hpp"
#include "store/journal/journal_store.hpp"
#include "store/local_disk.hpp"

namespace onceguard::journal {
namespace {

using base::diagnosis;
using grade = diagnosis::grade;

diagnosis reached(std::string text) {
  return {grade::ok, diagnosis_id(store_role::truth, "reach"), std::move(text), {}};
}

struct segment_files {
  std::size_t count = 0;
  std::string first;  ///< the path of one of them
};

segment_files segments_in(const std::string& path) {
  segment_files out;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(path, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (!segment_number(it->path().filename().string())) continue;
    ++out.count;
    out.first = it->path().string();
  }
  return out;
}

/// Opens it, which cuts off a torn end, as the start of a gateway would.
void examine_opened(const journal_params& params, milliseconds timeout, std::size_t segments,
                    base::diagnoses& out) {
  const auto opened = journal_store::open(params);
  if (!opened) return out.push_back(diagnose_refusal(store_role::truth, opened.error()));
  out.push_back(reached(params.path + ": opened, " + std::to_string(segments) +
                        (segments == 1 ? " segment" : " segments")));
  out.push_back(diagnose_writes(store_role::truth, **opened, timeout));
}

/// A journal that is not there yet needs room for a segment and a reserve, or takes no claim.
diagnosis diagnose_begin(const std::string& folder, std::uint64_t segment_size, bool has_begun) {
  auto out = diagnose_room(folder);
  const auto least = 2 * static_cast<std::int64_t>(segment_size);
  const auto room = volume_of(folder).room;
  if (has_begun || room < 0 || room >= least) return out;
  out.level = grade::fault;
  out.text += ", and a journal takes " + size_text(least) + " at its start";
  out.out_of_reach = true;
  out.remedy = "make room, or take sqlite:PATH, which begins with less (docs/stores.md)";
  return out;
}

}  // namespace

base::diagnoses examine(const journal_params& params, milliseconds timeout) {
  if (const auto fault = path_fault(params.path); !fault.empty()) {
    return {diagnose_refusal(store_role::truth, error(errc::invalid_argument, fault))};
  }
  base::diagnoses out;
  const auto segments = segments_in(params.path);
  struct stat about {};
  const bool there = ::stat(params.path.c_str(), &about) == 0;
  const auto owner = there ? find_owner(params.path) : std::nullopt;
  if (owner) {
    out.push_back(reached(params.path + ": a process " + (owner->empty() ? "" : *owner + " ") +
                          "has it open, and answers by its admin listener"));
  } else if (there && (segments.count > 0 || !S_ISDIR(about.st_mode))) {
    examine_opened(params, timeout, segments.count, out);
  } else {
    out.push_back(reached(params.path + ": there is no store yet; a gateway makes it"));
  }
  const auto folder =
      there ? params.path : std::filesystem::path(params.path).parent_path().string();
  out.push_back(diagnose_begin(folder, params.segment_size, segments.count > 0));
  out.push_back(diagnose_file_system(folder));
  if (segments.count > 0) diagnose_rights(segments.first, params.path, out);
  return out;
}

}  // namespace onceguard::journal
