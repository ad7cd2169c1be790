#include "data/decoder_messages.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <streambuf>

namespace bdc::host {
namespace {

thread_local std::string* listener = nullptr;

/// std::cerr's buffer: to the thread's listener where there is one, otherwise on.
class ErrorFilter : public std::streambuf {
 public:
  explicit ErrorFilter(std::streambuf* next) : next_(next) {}

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    if (listener == nullptr) return next_->sputc(traits_type::to_char_type(c));
    *listener += traits_type::to_char_type(c);
    return c;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (listener == nullptr) return next_->sputn(text, size);
    listener->append(text, static_cast<std::size_t>(size));
    return size;
  }
  int sync() override { return listener == nullptr ? next_->pubsync() : 0; }

 private:
  std::streambuf* next_;
};

/// The same for C's stderr.
ssize_t write_filtered(void*, const char* text, std::size_t size) {
  if (listener != nullptr) {
    listener->append(text, size);
    return static_cast<ssize_t>(size);
  }
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::write(STDERR_FILENO, text + done, size - done);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

/// Puts both filters in place, for the rest of the process.
void install_filters() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::cerr.rdbuf(new ErrorFilter(std::cerr.rdbuf()));  // used until the very end
    cookie_io_functions_t functions{};
    functions.write = write_filtered;
    std::FILE* filtered = ::fopencookie(nullptr, "w", functions);
    if (filtered == nullptr) return;
    std::setvbuf(filtered, nullptr, _IONBF, 0);
    stderr = filtered;  // glibc lets it be assigned; std::cerr keeps the one it began with
  });
}

}  // namespace

DecoderMessages::DecoderMessages() {
  install_filters();
  listener = &text_;
}

DecoderMessages::~DecoderMessages() {
  listener = nullptr;
}

}  // namespace bdc::host
