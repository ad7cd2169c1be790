#pragma once

#include <string>

namespace bdc::host {

/// What image decoders say while this object lives, in this thread, kept from the console. They print to standard error
/// (libpng and libjpeg through C's `stderr`, OpenCV through std::cerr) and name no file, so their lines help nobody;
/// other threads print as ever. One at a time per thread.
class DecoderMessages {
 public:
  DecoderMessages();
  ~DecoderMessages();
  DecoderMessages(const DecoderMessages&) = delete;
  DecoderMessages& operator=(const DecoderMessages&) = delete;

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace bdc::host
