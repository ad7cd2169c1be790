#include <unistd.h>

#include <cerrno>

#include "bdc/base/user_error.h"
#include "doctor/checks.h"

namespace bdc::host {
namespace {

void write_line(int fd, const Json& value) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) _exit(1);
    done += static_cast<std::size_t>(n);
  }
}

}  // namespace

void examine_in_child(const std::filesystem::path& file, const std::string& options, int fd) {
  const Json parsed = Json::parse(options, nullptr, false);
  if (!parsed.is_object()) _exit(static_cast<int>(ExitCode::usage));
  for (const CheckInfo& info : doctor_checks()) write_line(fd, {{"check", info.name}, {"law", info.law}});
  run_checks(
      file, parsed,
      [&](const std::string& name) {
        write_line(fd, {{"start", name}});
      },
      [&](const CheckResult& r) {
        write_line(fd, {{"done", r.name},
                        {"status", static_cast<int>(r.status)},
                        {"reason", r.reason},
                        {"exit_code", r.exit_code}});
      });
  write_line(fd, {{"end", true}});
  _exit(0);  // without the destructors of the plugin's statics: they are not what is examined
}

}  // namespace bdc::host
