#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <sched.h>
#include <seccomp.h>
#include <string>
#include <utility>
#include <vector>

#include "base/library_fault.hpp"
#include "sandbox/in_force.hpp"
#include "sandbox/sandbox.hpp"

namespace onceguard::sandbox {
namespace {

/// What none of the program's work calls, and somebody who has broken in would.
constexpr std::array denied{
    // other programs, and other processes' memory and files
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp), SCMP_SYS(process_madvise),
    // the tree of files, and the way around its rights
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
    SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen), SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr), SCMP_SYS(open_by_handle_at),
    SCMP_SYS(quotactl), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(fanotify_init),
    // namespaces
    SCMP_SYS(unshare), SCMP_SYS(setns),
    // the kernel
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(init_module),
    SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(acct), SCMP_SYS(syslog),
    // Not the calls for the kernel's keys: Kerberos may keep its tickets there (libpq).
    SCMP_SYS(personality),
    // the machine
    SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(modify_ldt), SCMP_SYS(vhangup)};

constexpr std::array<scmp_datum_t, 7> namespaces{CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                                 CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                                 CLONE_NEWNET};

struct release_filter {
  void operator()(void* filter) const noexcept { ::seccomp_release(filter); }
};
using filter_handle = std::unique_ptr<void, release_filter>;

/// A filter that allows everything, for all threads.
filter_handle make_filter(bool logged) {
  filter_handle out(::seccomp_init(SCMP_ACT_ALLOW));
  if (!out) return out;
  const bool set = ::seccomp_attr_set(out.get(), SCMP_FLTATR_CTL_TSYNC, 1) == 0 &&
                   ::seccomp_attr_set(out.get(), SCMP_FLTATR_CTL_LOG, logged ? 1 : 0) == 0 &&
                   // Kernels before 5.16 made all of the process slower otherwise.
                   ::seccomp_attr_set(out.get(), SCMP_FLTATR_CTL_SSB, 1) == 0;
  if (!set) out.reset();
  return out;
}

/// What is not known to the processor's kernel needs no rule, and libseccomp leaves it out.
bool deny(void* filter, int call, int code, std::vector<scmp_arg_cmp> arguments = {}) {
  return ::seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(code)), call,
                                  static_cast<unsigned>(arguments.size()), arguments.data()) == 0;
}

bool deny_all(void* filter) {
  for (const int call : denied) {
    if (!deny(filter, call, EPERM)) return false;
  }
  for (const auto flag : namespaces) {
    if (!deny(filter, SCMP_SYS(clone), EPERM, {{0, SCMP_CMP_MASKED_EQ, flag, flag}})) return false;
  }
  return true;
}

error not_made() { return error(errc::conflict, "seccomp: no filter could be made"); }

result<void> load(void* filter) {
  const int code = ::seccomp_load(filter);
  if (code == 0) return {};
  return error(errc::conflict, std::string("seccomp: ") + std::strerror(-code));
}

}  // namespace

result<void> limit_calls() {
  if (auto fault = base::library_fault("libseccomp.so"); !fault.empty()) {
    return error(errc::conflict, std::move(fault));
  }
  const auto dangerous = make_filter(true);
  if (!dangerous || !deny_all(dangerous.get())) return not_made();
  if (auto loaded = load(dangerous.get()); !loaded) return loaded;
  // The flags of clone3 are in memory, where no filter reads them: as if the kernel did not have
  // it, so that each new thread comes by clone. That is no attempt on anything, so not logged.
  const auto newer = make_filter(false);
  if (!newer || !deny(newer.get(), SCMP_SYS(clone3), ENOSYS)) return not_made();
  auto loaded = load(newer.get());
  calls_limited = loaded.has_value();
  return loaded;
}

}  // namespace onceguard::sandbox
