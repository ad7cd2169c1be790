#include "plugins/elf_note.h"

#include <bdc/plugin/abi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "bdc/base/text.h"
#include "bdc/base/user_error.h"

namespace bdc::host {
namespace {

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
constexpr const char* kMachineName = "x86-64";
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
constexpr const char* kMachineName = "AArch64";
#else
#error "Add this machine's ELF number here."
#endif

constexpr std::size_t kMaxNoteBytes = 1u << 20;

/// A file read by offset, every read checked against its size.
class File {
 public:
  explicit File(const std::filesystem::path& path)
      : path_(path.string()), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd_ < 0) {
      switch (errno) {
        case ENOENT:
          fail("no such file");
        case ELOOP:
          fail("its symbolic links form a loop");
        case EACCES:
          fail("permission denied");
        default:
          fail(std::strerror(errno));
      }
    }
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) fail("is a folder, expected a shared library");
    if (!S_ISREG(status.st_mode)) fail("is not a regular file");
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void require(std::uint64_t offset, std::uint64_t bytes, const char* what) const {
    if (offset > size_ || bytes > size_ - offset)
      fail(std::string("is cut off or damaged: ") + what + " lies outside the file");
  }
  void read(std::uint64_t offset, void* into, std::uint64_t bytes, const char* what) const {
    require(offset, bytes, what);
    auto* at = static_cast<char*>(into);
    while (bytes > 0) {
      const ssize_t n = ::pread(fd_, at, bytes, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail(std::string("cannot be read: ") + (n < 0 ? std::strerror(errno) : "it became shorter"));
      at += n;
      offset += static_cast<std::uint64_t>(n);
      bytes -= static_cast<std::uint64_t>(n);
    }
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[noreturn]] void fail(const std::string& what, ExitCode code = ExitCode::plugin_not_found) const {
    throw UserError(code, path_ + ": " + what);
  }

 private:
  std::string path_;
  int fd_;
  std::uint64_t size_ = 0;
};

Elf64_Ehdr read_header(const File& file) {
  Elf64_Ehdr header{};
  if (file.size() < SELFMAG) file.fail("is not a shared library (too short)");
  char magic[SELFMAG];
  file.read(0, magic, sizeof(magic), "the ELF magic");
  if (std::memcmp(magic, ELFMAG, SELFMAG) != 0) file.fail("is not a shared library (no ELF header)");
  file.read(0, &header, sizeof(header), "the ELF header");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine) {
    file.fail("is a library for another machine (ELF machine " + std::to_string(header.e_machine) + ", " +
                  (header.e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32") + "-bit; this host is " + kMachineName +
                  ")\n  advice: build the plugin on this kind of machine",
              ExitCode::abi_mismatch);
  }
  if (header.e_type != ET_DYN) file.fail("is an ELF file but not a shared library");
  if (header.e_phentsize != sizeof(Elf64_Phdr)) file.fail("is damaged: its program headers have a wrong size");
  return header;
}

/// The text of the bdc note inside one PT_NOTE segment, or "".
std::string find_note(const std::vector<char>& segment) {
  std::size_t at = 0;
  const auto padded = [](std::uint64_t n) { return (n + 3) / 4 * 4; };
  while (segment.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr note;
    std::memcpy(&note, segment.data() + at, sizeof(note));
    at += sizeof(note);
    const std::uint64_t owner = padded(note.n_namesz), text = padded(note.n_descsz);
    if (owner > segment.size() - at || text > segment.size() - at - owner) return "";
    const char* name = segment.data() + at;
    if (note.n_namesz == 4 && std::memcmp(name, "bdc", 4) == 0 && note.n_type == BDC_PLUGIN_NOTE_TYPE) {
      const char* begin = name + owner;
      return std::string(begin, ::strnlen(begin, note.n_descsz));
    }
    at += static_cast<std::size_t>(owner + text);
  }
  return "";
}

std::string field(const std::string& text, const std::string& key) {
  const std::string padded = ";" + text + ";";
  const auto from = padded.find(";" + key + "=");
  if (from == std::string::npos) return "";
  const auto value = from + key.size() + 2;
  return padded.substr(value, padded.find(';', value) - value);
}

}  // namespace

bool is_plugin_name(const std::string& name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 64 && plain(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return plain(c) || c == '_' || c == '-'; });
}

PluginNote read_plugin_note(const std::filesystem::path& path) {
  const File file(path);
  const Elf64_Ehdr header = read_header(file);
  std::string text;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr program{};
    file.read(header.e_phoff + std::uint64_t{i} * sizeof(program), &program, sizeof(program), "a program header");
    // The loader maps these; pages behind the end of the file would kill the process.
    if (program.p_type == PT_LOAD) file.require(program.p_offset, program.p_filesz, "a segment");
    if (!text.empty() || program.p_type != PT_NOTE || program.p_filesz > kMaxNoteBytes) continue;
    std::vector<char> segment(program.p_filesz);
    file.read(program.p_offset, segment.data(), segment.size(), "a note");
    text = find_note(segment);
  }
  if (text.empty()) {
    file.fail(
        "is a shared library but carries no bdc plugin note\n  advice: build it with bdc_add_detector_plugin and put "
        "BDC_EXPORT_DETECTOR into one of its sources");
  }
  PluginNote note;
  note.name = field(text, "name");
  if (!is_plugin_name(note.name)) file.fail("its plugin note has no proper name: '" + printable(note.name, 64) + "'");
  const std::string provides = field(text, "provides");
  note.has_detector = provides.find("detector") != std::string::npos;
  note.has_hook = provides.find("hook") != std::string::npos;
  try {
    note.fingerprint = Fingerprint::parse(text);
  } catch (const std::invalid_argument& e) {
    file.fail(std::string("its plugin note cannot be understood: ") + e.what(), ExitCode::abi_mismatch);
  }
  return note;
}

}  // namespace bdc::host
