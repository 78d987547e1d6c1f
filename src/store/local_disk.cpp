#include "store/local_disk.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include "store/examination.hpp"

namespace onceguard {
namespace {

using base::diagnosis;
using grade = diagnosis::grade;

constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t little_room = 256 * mib;  // of the logs and some hours of records

std::string id_of(std::string_view subject) { return diagnosis_id(store_role::truth, subject); }

struct named_magic {
  std::uint32_t magic;
  std::string_view name;
};

// From statfs(2), and from the kernel's headers for the numbers that statfs(2) lacks.
constexpr named_magic refused[] = {
    {0x6969, "NFS"},        {0x517b, "SMB"},        {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB2"},   {0x65735546, "FUSE"},   {0x01021997, "9p"},
    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},    {0x0bd00bd0, "Lustre"},
    {0x00c36400, "Ceph"},   {0x73757245, "Coda"},   {0x564c, "NCP"},
    {0x47504653, "GPFS"},   {0x01161970, "GFS2"},   {0x7461636f, "OCFS2"},
    {0x786f4256, "vboxsf"}, {0x19830326, "BeeGFS"}, {0x20030528, "OrangeFS"},
    {0xbacbacbc, "vmhgfs"}, {0x7c7c6673, "prl_fs"},
};

}  // namespace

std::string_view network_file_system(std::int64_t magic) noexcept {
  for (const auto& known : refused) {
    // Some platforms sign-extend the magic number.
    if (static_cast<std::uint32_t>(magic) == known.magic) return known.name;
  }
  return {};
}

std::string_view network_file_system_of(const std::string& path) noexcept {
  struct statfs system {};
  if (::statfs(path.c_str(), &system) != 0) return {};
  return network_file_system(static_cast<std::int64_t>(system.f_type));
}

disk_volume volume_of(const std::string& path) noexcept {
  struct statvfs about {};
  if (::statvfs(path.c_str(), &about) != 0) return {};
  const auto bytes = [&](fsblkcnt_t blocks) {
    return static_cast<std::int64_t>(blocks) * static_cast<std::int64_t>(about.f_frsize);
  };
  return {bytes(about.f_blocks), bytes(about.f_bavail)};
}

std::string size_text(std::int64_t bytes) {
  return bytes < 10 * mib ? std::to_string(bytes >> 10) + " KiB"
                          : std::to_string(bytes / mib) + " MiB";
}

diagnosis diagnose_room(const std::string& folder) {
  const auto volume = volume_of(folder);
  if (volume.room < 0) {
    return {grade::note, id_of("room"), folder + ": the system does not report its free room", {}};
  }
  const auto text =
      folder + ": " + size_text(volume.room) + " of " + size_text(volume.size) + " are free";
  if (volume.room >= little_room && volume.room >= volume.size / 20) {
    return {grade::ok, id_of("room"), text, {}};
  }
  return {grade::warning, id_of("room"), text,
          "make room: a full volume refuses new claims with 503 (docs/operations.md)"};
}

diagnosis diagnose_file_system(const std::string& folder) {
  constexpr std::uint32_t tmpfs = 0x01021994;
  constexpr std::uint32_t ramfs = 0x858458f6;
  constexpr std::uint32_t overlay = 0x794c7630;
  struct statfs system {};
  if (::statfs(folder.c_str(), &system) != 0) return {};
  switch (static_cast<std::uint32_t>(system.f_type)) {
    case tmpfs:
    case ramfs:
      return {grade::warning, id_of("file-system"),
              folder + " lies in memory: a reboot loses every record", "take a disk"};
    case overlay:
      return {grade::warning, id_of("file-system"),
              folder + " is a layer of a container: its end loses every record",
              "mount a volume there"};
    default:
      return {grade::ok, id_of("file-system"), folder + " is on a local disk", {}};
  }
}

void diagnose_rights(const std::string& path, const std::string& folder, base::diagnoses& out) {
  struct ::stat file {};
  struct ::stat parent {};
  if (::stat(path.c_str(), &file) != 0 || ::stat(folder.c_str(), &parent) != 0) return;
  const bool open = (file.st_mode & S_IROTH) != 0 && (parent.st_mode & S_IXOTH) != 0;
  if (!open) {
    return out.push_back({grade::ok, id_of("rights"), path + " is not for every user to read", {}});
  }
  out.push_back(
      {grade::note, id_of("rights"),
       path + ": every user of this machine can read the stored answers",
       "chmod o-x the directory, or start the gateway with umask 027 (UMask= of systemd)"});
}

}  // namespace onceguard
