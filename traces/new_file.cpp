#include "traces/new_file.hpp"

#include <cerrno>
#include <cstring>

#include "traces/error.hpp"

namespace refrain {

new_file::new_file(const std::string& path) : path_{path}, file_{std::fopen(path.c_str(), "wbx")} {
  if (!file_) {
    fail();
  }
}

new_file::~new_file() {
  if (!kept_) {
    bool created = file_ != nullptr;
    file_.reset();
    if (created) {
      std::remove(path_.c_str());
    }
  }
}

void new_file::write(std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) {
    fail();
  }
  text.clear();
}

void new_file::keep() {
  kept_ = true;
  if (std::fclose(file_.release()) != 0) {
    int reason = errno;
    std::remove(path_.c_str());
    errno = reason;
    fail();
  }
}

void new_file::fail() {
  std::string reason = std::strerror(errno);
  bool exists = !file_ && errno == EEXIST;
  throw input_error{path_, exists ? "exists; name a new file" : "cannot be written: " + reason};
}

}  // namespace refrain
